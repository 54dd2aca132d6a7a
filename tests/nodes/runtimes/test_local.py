"""What is particular to processes of this machine."""

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from leyden.base import processes
from leyden.errors import Away, CannotStart, SetupError
from leyden.lnd.trust import trusting_whenever
from leyden.nodes.lnd import home, tail
from leyden.nodes.lnd.chains import Chain
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rules.log_positions import BEGINNING, END
from leyden.nodes.rules.nodes import Node, NodeType
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.base import NO_CHANGES, STOPPED
from leyden.nodes.runtimes.local.layout import Layout
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.nodes.runtimes.local.local_node_files import LocalNodeFiles
from leyden.nodes.runtimes.local.placement import MIB, Placement, Share, can_be_reached
from leyden.values import replace
from tests.authority import Authority
from tests.disks import fill, small_disk
from tests.loop_work import cost
from tests.metrics import unknown_nodes
from tests.nodes.contracts.runtimes import (
    LocalRuntimeCase,
    RealRuntimeCase,
    install_stand_in,
    start,
)
from tests.nodes.lnd.test_log import INFO, LINE
from tests.nodes.rules.nodes import a_node, some_settings
from tests.waiting import until

KILLED_HALF_WAY = """
import asyncio, os, signal, sys
from leyden.values import replace
from ipaddress import IPv4Network
from pathlib import Path
from leyden.base import processes
from tests.nodes.contracts.runtimes import LocalRuntimeCase, install_stand_in
from tests.nodes.rules.nodes import a_node

async def main(folder):
    case = LocalRuntimeCase(folder / "nodes", folder / "lnd")
    case.placement = replace(case.placement, network=IPv4Network(sys.argv[2]))
    case.begin_anew()
    spawn = processes.spawn
    async def spawn_and_die(*args, **options):
        await spawn(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    processes.spawn = spawn_and_die
    node = a_node()
    async for _ in case.runtime.start(node, case.launch_spec(node)):
        pass

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def node() -> Node:
    return a_node()


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[LocalRuntimeCase]:
    case = LocalRuntimeCase(tmp_path / "nodes", install_stand_in(tmp_path))
    yield case
    await case.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may pass through, as /var/lib is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def lnds_in(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if f"--lnddir={folder}".encode() in words:
            found.append(int(process.name))
    return found


async def test_killed_right_after_the_start_it_finds_its_lnd_again(
    case: LocalRuntimeCase, node: Node, tmp_path: Path
) -> None:
    killed = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        KILLED_HALF_WAY,
        tmp_path,
        str(case.placement.network),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert await killed.wait() == -signal.SIGKILL
    (orphan,) = lnds_in(tmp_path)
    found = await start(case, replace(node, revision=2))
    assert found.process.startswith(f"{orphan} ")
    assert found.launched_revision == 1, "it has the settings it was started with"
    assert lnds_in(tmp_path) == [orphan]


async def test_where_no_node_may_start_none_does_and_those_that_run_are_found(
    case: LocalRuntimeCase, node: Node, tmp_path: Path
) -> None:
    class Missing:
        async def admit(self) -> None:
            raise Away("the egress policy is not in place")

        async def keep(self) -> None:
            pass

    case.egress = Missing()
    case.begin_anew()
    with pytest.raises(Away, match="not in place"):
        await start(case, node)
    assert lnds_in(tmp_path) == []
    case.egress = None
    case.begin_anew()
    running = await start(case, node)
    case.egress = Missing()
    case.begin_anew()
    assert (await start(case, node)).process == running.process


async def test_a_node_is_heard_that_shows_a_certificate_from_elsewhere(
    case: LocalRuntimeCase, node: Node
) -> None:
    chain, key = Authority("somebody else").sign(node.api_endpoint)
    launch_spec = replace(case.launch_spec(node), tls=Tls(chain_pem=chain, key_pem=key))
    async for _ in case.runtime.start(node, launch_spec):
        pass
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )


@pytest.mark.parametrize("authority", ["ours", "another"])
async def test_a_node_is_heard_whose_certificate_has_ended(
    case: LocalRuntimeCase, node: Node, authority: str
) -> None:
    """It was not restarted for a year, or the clock of this machine is wrong."""
    signer = case._authority if authority == "ours" else Authority("another")
    chain, key = signer.sign(node.api_endpoint, expired=True)
    launch_spec = replace(case.launch_spec(node), tls=Tls(chain_pem=chain, key_pem=key))
    async for _ in case.runtime.start(node, launch_spec):
        pass
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )


async def test_a_stranger_with_the_same_pid_is_left_alone(
    case: LocalRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    await case.crash(node)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    with subprocess.Popen(["/bin/sleep", "60"]) as stranger:
        _, started, exe = node.process.split(" ", 2)
        case.begin_anew()
        mistaken = replace(node, process=f"{stranger.pid} {started} {exe}")
        assert not (await case.runtime.observe(mistaken)).alive
        await case.runtime.stop(mistaken)
        assert stranger.poll() is None
        stranger.kill()


async def test_nothing_secret_can_be_read_by_others(
    case: LocalRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    home = case.root / node.id / "lnd"
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    key = (home / "tls.key").read_bytes()
    identity = case.identity(node)
    for name in ("cmdline", "environ"):
        assert key not in Path(f"/proc/{identity.pid}/{name}").read_bytes()
    environment = Path(f"/proc/{identity.pid}/environ").read_text()
    assert "LEYDEN_" not in environment.replace("LEYDEN_REVISION", "")
    assert "PYTEST" not in environment


async def test_lnd_is_told_what_it_may_use(case: LocalRuntimeCase, node: Node) -> None:
    node = await start(case, node)
    process = Path(f"/proc/{case.identity(node).pid}")
    environment = (process / "environ").read_text()
    assert f"GOMEMLIMIT={1024 * MIB * 9 // 10}B\0" in environment
    assert "GOMAXPROCS=1\0" in environment
    limits = (process / "limits").read_text()
    assert "Max open files            4096                 4096" in limits
    assert "Max core file size        0                    0" in limits


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start others' programs")
async def test_each_node_is_a_user_of_its_own_where_we_are_root(
    open_folder: Path, node: Node
) -> None:
    python = Path("/usr/bin/python3")
    if not python.exists() or not can_be_reached(python.resolve()):
        pytest.skip("no Python within reach of other users")
    case = LocalRuntimeCase(
        open_folder / "nodes", install_stand_in(open_folder, python=python)
    )
    case.placement = replace(case.placement, first_uid=200_000)
    case.begin_anew()
    node = await start(case, node)
    status = Path(f"/proc/{case.identity(node).pid}/status").read_text()
    assert f"Uid:\t{200_000 + node.slot}\t{200_000 + node.slot}" in status
    assert f"Gid:\t{200_000 + node.slot}\t{200_000 + node.slot}" in status
    assert "Groups:\t \n" in status
    assert "NoNewPrivs:\t1" in status
    assert (case.root / node.id / "lnd").stat().st_uid == 200_000 + node.slot
    assert (case.root / node.id).stat().st_uid == 0
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )
    await case.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start others' programs")
async def test_a_home_whose_user_changed_is_handed_over(
    open_folder: Path, node: Node
) -> None:
    python = Path("/usr/bin/python3")
    if not python.exists() or not can_be_reached(python.resolve()):
        pytest.skip("no Python within reach of other users")
    case = LocalRuntimeCase(
        open_folder / "nodes", install_stand_in(open_folder, python=python)
    )
    for first_uid in (200_000, 300_000):
        case.placement = replace(case.placement, first_uid=first_uid)
        case.begin_anew()
        node = await start(case, node)
        await until(
            lambda: (
                case.observations[-1:] != [] and case.observations[-1].state is not None
            )
        )
        home = case.root / node.id / "lnd"
        (home / "wallet").mkdir(exist_ok=True)
        (home / "wallet" / "wallet.db").touch()
        (home / "outside").unlink(missing_ok=True)
        (home / "outside").symlink_to(open_folder)
        if first_uid == 200_000:
            for path in (home / "wallet", home / "wallet" / "wallet.db"):
                os.chown(path, 200_000 + node.slot, 200_000 + node.slot)
        await case.runtime.stop(node)
        owners = {path.lstat().st_uid for path in (home, home / "lnd.conf")}
        assert owners == {first_uid + node.slot}
    for path in (home / "wallet", home / "wallet" / "wallet.db"):
        assert path.stat().st_uid == 300_000 + node.slot
        assert path.stat().st_gid == 300_000 + node.slot
    assert open_folder.stat().st_uid == 0, "links are not followed"
    await case.close()


async def test_on_a_full_disk_nothing_is_torn_and_room_mends_it(
    tmp_path: Path, node: Node
) -> None:
    with small_disk(tmp_path / "disk", mib=2) as disk:
        case = LocalRuntimeCase(disk / "nodes", install_stand_in(tmp_path))
        try:
            node = await start(case, node)
            await case.runtime.stop(node)
            conf = disk / "nodes" / node.id / "lnd" / "lnd.conf"
            before = conf.read_bytes()
            ballast = fill(disk)
            new = replace(node, revision=2)
            with pytest.raises(OSError, match="No space left"):
                await start(case, new)
            assert conf.read_bytes() == before
            ballast.unlink()
            node = await start(case, new)
            assert node.launched_revision == 2
        finally:
            await case.close()


async def test_who_does_not_end_when_asked_is_ended(
    case: LocalRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    identity = case.identity(node)
    processes.signal(identity, signal.SIGSTOP)  # it will never hear
    case.runtime._grace_s = 0.05  # type: ignore[attr-defined]
    await case.runtime.stop(node)
    assert not (await case.runtime.observe(node)).alive


async def test_one_that_cannot_start_is_seen_to_end(case: LocalRuntimeCase) -> None:
    node = a_node(settings=some_settings(alias="crash at once"))
    node = await start(case, node)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    assert not case.observations[-1].stopped_by_owner


def test_less_memory_than_an_unlock_takes_is_refused() -> None:
    with pytest.raises(SetupError, match="400 MiB"):
        Share(memory=399 * MIB)


def test_slots_become_addresses_and_no_more_than_there_are() -> None:
    placement = Placement(network=IPv4Network("127.77.3.0/30"))
    assert [placement.host(a_node(slot=slot)) for slot in (1, 2)] == [
        "127.77.3.1",
        "127.77.3.2",
    ]
    for slot in (0, 3, 4):
        with pytest.raises(SetupError):
            placement.host(a_node(slot=slot))
    assert (
        placement.shares[NodeType.PROFESSIONAL].memory
        > placement.shares[NodeType.STANDARD].memory
    )


@pytest.mark.parametrize("left", [0, 1, 2])
async def test_with_no_file_left_to_open_nothing_is_forgotten(
    case: LocalRuntimeCase, node: Node, left: int
) -> None:
    """`ulimit -n`: what cannot be seen for a while is seen afterwards."""
    node = await start(case, node)
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )
    case.begin_anew()
    await asyncio.sleep(0.05)  # what listened before has closed its files
    case.observations.clear()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    identity = case.identity(node)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + left, hard))
    try:
        case.runtime._watch(node, identity)  # type: ignore[attr-defined]
        await asyncio.sleep(0.05)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    await until(
        lambda: case.observations[-1:] != [] and case.observations[-1].state is not None
    )
    assert all(each.alive for each in case.observations)
    await case.crash(node)
    await until(lambda: not case.observations[-1].alive)


async def test_a_backup_that_could_not_be_opened_is_read_at_the_next_look(
    tmp_path: Path, node: Node
) -> None:
    """`ulimit -n` again: lnd writes another one only with another channel."""
    case = LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd")
    homes = LocalNodeFiles(case.layout)
    file = home.channel_backup(case.layout.home(node), Chain.SIMNET)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"one channel")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        assert homes.read_changes(node, BEGINNING).channel_backup is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert homes.read_changes(node, BEGINNING).channel_backup == b"one channel"
    assert homes.read_changes(node, BEGINNING) == NO_CHANGES


async def test_a_node_that_was_only_just_made_takes_nothing(tmp_path: Path) -> None:
    case = LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd")
    usage = await LocalNodeFiles(case.layout).usage(a_node())
    assert usage == replace(STOPPED, disk=0)


def _logged(layout: Layout, node: Node, content: bytes) -> None:
    file = home.log_file(layout.home(node), layout.grounds[node.network].chain)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)


async def test_whoever_does_not_follow_the_log_knows_the_height_too(
    tmp_path: Path,
) -> None:
    """An API server beside a worker: the worker follows the log."""

    def block(height: int) -> bytes:
        at = "2026-03-01 12:00:00.000"
        said = f"New block: height={height}, sha={'ab' * 32}"
        return f"{at} [INF] NTFN: {said}\n".encode()

    layout = LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd").layout
    here = processes.identify(os.getpid())
    assert here is not None
    node = replace(a_node(), process=here.written)
    homes = LocalNodeFiles(layout)

    async def height() -> int:
        return (await homes.usages([node]))[node.id].height

    assert await height() == 0
    _logged(layout, node, block(811))
    assert await height() == 811
    file = home.log_file(layout.home(node), layout.grounds[node.network].chain)
    with file.open("ab") as log:
        log.write(block(812))
    assert await height() == 812
    with file.open("ab") as log:
        log.write(b"nothing of a block\n" * 10_000)
    assert await height() == 812


async def test_an_owner_does_not_learn_where_a_node_lives(tmp_path: Path) -> None:
    layout, node = (
        LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd").layout,
        a_node(),
    )
    lines = [
        f"lnd in {layout.home(node)} has",
        f"no space left: {tmp_path}",
        f"{layout.home(node)}-2, {layout.folder(node)}.",
    ]
    log = "".join(f"{line}\n" for line in lines)
    # What is read begins in the middle of a path.
    cut = f"{layout.home(node)}/tls.key"
    rest = "".ljust((1 << 20) - len(cut) // 2 - len(log) - 2, "x")
    _logged(layout, node, f"{cut}\n{rest}\n{log}".encode())
    assert await LocalNodeFiles(layout).log(node, 100) == [
        rest,
        "lnd in ~/.lnd has",
        "no space left: ~",
        "~/lnd-2, ~.",
    ]


@pytest.mark.parametrize("part", ["logs", "data", "logs/bitcoin", "data/chain"])
async def test_no_link_leads_out_of_a_nodes_folder(tmp_path: Path, part: str) -> None:
    """Its lnd runs as its own user, and we read as root."""
    layout = LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd").layout
    own, other = a_node(), replace(a_node(), id="7b1f0c5e-0000-4000-8000-000000000000N")
    chain = layout.grounds[own.network].chain
    for node in (own, other):
        _logged(layout, node, f"of {node.id}\n{INFO}{LINE}\n".encode())
        backup = home.channel_backup(layout.home(node), chain)
        backup.parent.mkdir(parents=True)
        backup.write_bytes(node.id.encode())
    linked = layout.home(own) / part
    shutil.rmtree(linked)
    linked.symlink_to(layout.home(other) / part)
    homes = LocalNodeFiles(layout)
    assert f"of {other.id}" not in await homes.log(own, 10)
    assert await homes.channel_backup(own) in {None, own.id.encode()}
    found = homes.read_changes(own, BEGINNING)
    assert found.channel_backup in {None, own.id.encode()}
    if part.startswith("logs"):
        log = str(home.log_file(layout.home(own), chain))
        assert (await homes.catch_up(own, BEGINNING)).complaints == ()
        assert tail.read_new(log, END) is None
        assert tail.height_at_the_end(log) == 0


async def test_end_is_seen_when_the_log_is_a_pipe(
    case: LocalRuntimeCase, node: Node
) -> None:
    """Its lnd's user replaced it, so that we would wait for ever for who writes."""
    node = await start(case, node)
    log = home.log_file(case.layout.home(node), case.layout.grounds[node.network].chain)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    os.mkfifo(log)
    processes.signal(case.identity(node), signal.SIGKILL)
    await until(
        lambda: case.observations[-1:] != [] and not case.observations[-1].alive
    )
    case.begin_anew()
    assert not (await case.runtime.observe(node)).alive


async def test_nobody_waits_for_a_pipe_in_a_nodes_folder(tmp_path: Path) -> None:
    layout, node = (
        LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd").layout,
        a_node(),
    )
    chain = layout.grounds[node.network].chain
    for file in (
        home.log_file(layout.home(node), chain),
        home.channel_backup(layout.home(node), chain),
    ):
        file.parent.mkdir(parents=True)
        os.mkfifo(file)
    homes = LocalNodeFiles(layout)
    async with asyncio.timeout(5):
        assert homes.read_changes(node, END).channel_backup is None
        assert await homes.channel_backup(node) is None
        assert await homes.log(node, 10) == []
        assert (await homes.catch_up(node, BEGINNING)).position == BEGINNING


async def test_a_log_is_read_beside_the_loop(tmp_path: Path) -> None:
    layout, node = (
        LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd").layout,
        a_node(),
    )
    _logged(layout, node, b"\xff\n" * (1 << 20))
    homes = LocalNodeFiles(layout)

    async def request() -> int:
        return len(await homes.log(node, 20_000))

    found = await cost("the end of a log", request)
    assert found.status == 20_000
    assert found.is_short, found


@pytest.mark.real
async def test_callers_whose_tls_fails_fill_no_disk(
    tmp_path: Path, node: Node, real_lnd: Path
) -> None:
    """lnd prints a line for each of them, beside its log that has a cap."""
    case = RealRuntimeCase(tmp_path / "nodes", real_lnd)
    node = await start(case, node)
    await until(
        lambda: bool(case.observations) and case.observations[-1].state is not None
    )
    homes, output = LocalNodeFiles(case.layout), case.layout.output(node)

    async def call_without_tls() -> None:
        before = output.stat().st_size
        where = case.placement.host(node), case.placement.rest_port
        reader, writer = await asyncio.open_connection(*where)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        with contextlib.suppress(OSError):  # it ends with or without an answer
            await reader.read()
        writer.close()
        await until(lambda: output.stat().st_size > before)

    await call_without_tls()
    homes.read_changes(node, BEGINNING)
    assert b"TLS handshake error" in output.read_bytes(), "a little stays to be read"
    with output.open("ab") as already:
        already.write(b"as if there had been ten thousand\n" * 40_000)
    homes.read_changes(node, BEGINNING)
    assert output.stat().st_size == 0
    await call_without_tls()
    assert output.read_bytes().count(b"\n") == 1, "it goes on at the beginning"
    assert (await case.runtime.observe(node)).alive
    await case.close()


async def test_a_node_that_has_printed_nothing_yet_can_be_looked_at(
    tmp_path: Path, node: Node
) -> None:
    case = LocalRuntimeCase(tmp_path / "nodes", tmp_path / "lnd")
    assert LocalNodeFiles(case.layout).read_changes(node, BEGINNING) == NO_CHANGES


@pytest.mark.usefixtures("no_unknown_nodes")
async def test_nodes_of_which_nothing_is_known_are_counted(
    case: LocalRuntimeCase, node: Node
) -> None:
    node = await start(case, node)
    assert unknown_nodes() == 0
    await case.lose(node)
    for _ in range(2):
        assert not (await case.runtime.observe(node)).known
        assert unknown_nodes() == 1
    case.runtime.unwatch(node.id)
    assert unknown_nodes() == 0
    assert not (await case.runtime.observe(node)).known
    (case.root / node.id).mkdir()
    assert (await case.runtime.observe(node)).known
    assert unknown_nodes() == 0


async def test_a_program_that_is_gone_is_told_to_the_owner(
    case: LocalRuntimeCase,
) -> None:
    async def gone(_: Version) -> Path:
        raise FileNotFoundError(2, "No such file or directory", "/cache/lnd")

    case.runtime = LocalRuntime(
        case.layout, binary=gone, trusts=trusting_whenever(Authority().pem)
    )
    node = a_node()
    with pytest.raises(CannotStart, match=r"no lnd v.*/cache/lnd") as refused:
        await start(case, node)
    assert refused.value.reason.startswith(f"lnd {node.version} is not on the node's")
    assert "/" not in refused.value.reason
