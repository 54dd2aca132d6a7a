"""The real Envoy ends, we end, one of us changes: who gets in stays the same."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.errors import Away, SetupError
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener
from leyden.nodes.gateway.supervisor import Supervisor
from leyden.values import replace
from tests.nodes.gateway.calls import ALICE, BOB, HOST, Callers, EchoNode

pytestmark = pytest.mark.real


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "gateway"


def may_go_first() -> bool:
    with subprocess.Popen(["/bin/sleep", "60"]) as sleeper:
        try:
            os.setpriority(os.PRIO_PROCESS, sleeper.pid, -10)
        except OSError:
            return False
        finally:
            sleeper.kill()
    return True


@pytest.mark.usefixtures("gateway")
async def test_it_goes_first_on_a_busy_machine(folder: Path) -> None:
    if not may_go_first():
        pytest.skip("we may not let a program go first here: only root may")
    threads = Path(f"/proc/{running(folder).pid}/task").iterdir()
    niceness = {os.getpriority(os.PRIO_PROCESS, int(each.name)) for each in threads}
    assert niceness == {-10}


def running(folder: Path) -> processes.ProcessIdentity:
    found = processes.holder(folder / "claim")
    assert found is not None
    return found


async def test_killed_it_is_back_with_its_whitelists(
    gateway: LocalGateway, folder: Path, callers: Callers, first_node: EchoNode
) -> None:
    looking_after = asyncio.create_task(gateway.run())
    await gateway.apply([first_node.route(ALICE)])
    made = await callers.call(first_node.name)
    killed = running(folder)
    os.kill(killed.pid, signal.SIGKILL)
    assert await made.ended(within_s=10)
    async with asyncio.timeout(30):
        while not await callers.admitted(first_node.name, ALICE):
            assert not await callers.admitted(first_node.name, BOB)
    assert not await callers.admitted(first_node.name, BOB)
    assert running(folder) != killed
    looking_after.cancel()


async def test_it_goes_on_without_us_and_is_found_again(
    gateway: LocalGateway,
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    before = running(folder)
    made = await callers.call(first_node.name)

    again = LocalGateway(folder, listening, Bootstrap(), envoy=envoy)
    await again.start()

    assert running(folder) == before
    assert await made.open()
    assert not await callers.admitted(first_node.name, BOB)
    await again.apply([first_node.route(ALICE)])
    assert await made.open()


async def test_what_another_process_put_in_force_is_not_taken_for_ours(
    gateway: LocalGateway,
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    other = LocalGateway(folder, listening, Bootstrap(), envoy=envoy)
    await other.start()
    await other.apply([first_node.route(BOB)])
    await gateway.apply([first_node.route(ALICE)])
    assert not await callers.admitted(first_node.name, BOB)
    assert await callers.admitted(first_node.name, ALICE)


@pytest.mark.usefixtures("gateway")
async def test_one_that_hangs_is_said_and_not_waited_for(
    folder: Path, envoy: Path
) -> None:
    hung = running(folder)
    os.kill(hung.pid, signal.SIGSTOP)
    try:
        again = Supervisor(folder, Bootstrap(), envoy=envoy, ready_s=0.05)
        with pytest.raises(SetupError, match=r"does not respond.*envoy\.log"):
            await again.start()
    finally:
        os.kill(hung.pid, signal.SIGCONT)


async def test_whoever_looks_after_it_at_once_starts_one_that_can_be_told(
    gateway: LocalGateway,
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    others = [
        LocalGateway(folder, listening, Bootstrap(), envoy=envoy) for _ in range(3)
    ]
    for _ in range(3):
        killed = running(folder)
        os.kill(killed.pid, signal.SIGKILL)
        await processes.exited(killed)
        await asyncio.gather(*(each.start() for each in (gateway, *others)))
        for number, each in enumerate(others):
            await each.apply([first_node.route(ALICE if number % 2 else BOB)])
        assert await callers.admitted(first_node.name, BOB)


async def test_set_up_otherwise_it_is_replaced(
    gateway: LocalGateway,
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    before = running(folder)
    other = LocalGateway(folder, listening, Bootstrap(connections=77), envoy=envoy)
    await other.start()
    assert running(folder) != before
    # nodes may be elsewhere by now, so nobody gets in until we say who
    assert not await callers.admitted(first_node.name, ALICE)
    await other.apply([first_node.route(ALICE)])
    assert await callers.admitted(first_node.name, ALICE)


async def test_what_lay_there_from_another_day_lets_nobody_in(
    gateway: LocalGateway,
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    await gateway.stop()
    tomorrow = LocalGateway(folder, listening, Bootstrap(), envoy=envoy)
    await tomorrow.start()
    assert not await callers.admitted(first_node.name, ALICE)


async def test_routes_given_while_it_is_away_are_in_force_when_it_is_back(
    gateway: LocalGateway, callers: Callers, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    await gateway.stop()
    await gateway.apply([first_node.route(BOB)])
    assert not await callers.admitted(first_node.name, BOB)
    await gateway.start()
    await callers.get_in(first_node.name, BOB)
    assert not await callers.admitted(first_node.name, ALICE)


async def test_routes_that_it_refuses_change_nothing(
    gateway: LocalGateway,
    folder: Path,
    callers: Callers,
    first_node: EchoNode,
    second_node: EchoNode,
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    before = (folder / "routes.pb").read_bytes()
    limits = folder / "connection_limits.wasm"
    content = limits.read_bytes()
    limits.unlink()  # without its filter no chain can be made
    both = [first_node.route(ALICE), second_node.route(ALICE)]
    with pytest.raises(Away, match="refused the routes"):
        await gateway.apply(both)
    assert await callers.admitted(first_node.name, ALICE)
    assert not await callers.admitted(second_node.name, ALICE)
    assert (folder / "routes.pb").read_bytes() == before

    limits.write_bytes(content)
    await gateway.apply(both)
    assert await callers.admitted(second_node.name, ALICE)


async def test_a_port_that_is_taken_is_said(
    folder: Path, listening: ListenerOptions, envoy: Path
) -> None:
    with socket.create_server((HOST, listening.ports[Listener.GRPC])):
        gateway = LocalGateway(folder, listening, Bootstrap(), envoy=envoy)
        with pytest.raises(SetupError, match="cannot listen on gateway_grpc_port:"):
            await gateway.start()
        assert processes.holder(folder / "claim") is None, "it was left behind"
    await gateway.start()  # the port is free again
    await gateway.stop()


async def test_two_gateways_never_share_a_port(
    gateway: LocalGateway, tmp_path: Path, listening: ListenerOptions, envoy: Path
) -> None:
    """Else each would get half of the connections, by a whitelist of its own."""
    del gateway  # it listens
    second = LocalGateway(tmp_path / "other", listening, Bootstrap(), envoy=envoy)
    with pytest.raises(SetupError, match="cannot listen"):
        await second.start()


async def test_an_envoy_that_cannot_run_is_said(
    folder: Path, listening: ListenerOptions
) -> None:
    gateway = LocalGateway(folder, listening, Bootstrap(), envoy=Path("/bin/false"))
    with pytest.raises(SetupError, match="ended"):
        await gateway.start()


async def test_its_files_are_for_its_owner_alone(
    gateway: LocalGateway, folder: Path, first_node: EchoNode
) -> None:
    await gateway.apply([first_node.route(ALICE)])
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.iterdir():
        assert (
            path.stat().st_mode & 0o077 == 0 or path.name == "connection_limits.wasm"
        ), path


async def test_more_connections_than_there_are_files_for_are_closed_not_hung(
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    few = LocalGateway(
        folder,
        replace(listening, hello_timeout_s=5),
        Bootstrap(connections=5),
        envoy=envoy,
    )
    await few.start()
    await few.apply([first_node.route(ALICE)])
    made = [await callers.call(first_node.name) for _ in range(5)]
    assert not await callers.admitted(first_node.name)
    await made[0].close()
    await callers.get_in(first_node.name)
    await few.stop()


START = """
import asyncio, sys
from pathlib import Path
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener
folder, envoy, rest, grpc = sys.argv[1:]
listening = ListenerOptions(ports={Listener.REST: int(rest), Listener.GRPC: int(grpc)})
gateway = LocalGateway(Path(folder), listening, Bootstrap(), envoy=Path(envoy))
asyncio.run(gateway.start())
"""


async def test_where_few_files_may_be_open_it_closes_what_is_too_much_and_lives_on(
    folder: Path,
    listening: ListenerOptions,
    envoy: Path,
    callers: Callers,
    first_node: EchoNode,
) -> None:
    ports = [
        str(listening.ports[listener]) for listener in (Listener.REST, Listener.GRPC)
    ]
    limited = ["sh", "-c", 'ulimit -n 256; exec "$@"', "sh", sys.executable]
    starting = await asyncio.create_subprocess_exec(
        *limited, "-c", START, str(folder), str(envoy), *ports
    )
    assert await starting.wait() == 0
    before = running(folder)
    roomy = replace(listening, connections_per_source=500, connections_per_node=500)
    gateway = LocalGateway(folder, roomy, Bootstrap(), envoy=envoy)
    await gateway.apply([first_node.route(ALICE)])

    made = []
    for _ in range(200):
        try:
            made.append(await callers.call(first_node.name))
        except OSError:
            break
    assert len(made) == 80  # two files each, and 96 for itself
    assert all(await asyncio.gather(*(each.open() for each in made)))
    await asyncio.gather(*(each.close() for each in made))
    await callers.get_in(first_node.name)
    assert running(folder) == before
    await gateway.stop()
