"""What somebody does with a node, from the wish to the end: real lnd, real Envoy."""

import asyncio
import base64
import os
import re
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leyden.base import processes
from leyden.errors import NodeAway, NodeRefused
from tests.programs import as_root_with_nft, built, needs
from tests.stories.platform import SETTINGS, Owned, Refused, RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

CAPACITY = 1_000_000


async def in_business(platform: RunningPlatform, node: Owned) -> None:
    """Return the node money, and a channel to the treasury."""
    address = (await node.call("GET", "/v1/newaddress"))["address"]
    await platform.run("dev", "fund", address, str(3 * CAPACITY))

    async def funded() -> bool:
        balance = await node.call("GET", "/v1/balance/blockchain")
        return int(balance["confirmed_balance"]) >= 3 * CAPACITY

    await platform.until("the node has its money", funded)
    treasury = await platform.treasury("GET", "/v1/getinfo")
    await node.call(
        "POST",
        "/v1/peers",
        {
            "addr": {
                "pubkey": treasury["identity_pubkey"],
                "host": platform.facts["treasury"]["peer"],
            },
            "timeout": "10",
        },
    )
    await node.call(
        "POST",
        "/v1/channels",
        {
            "node_pubkey_string": treasury["identity_pubkey"],
            "local_funding_amount": str(CAPACITY),
            "push_sat": str(CAPACITY // 4),
        },
    )
    await platform.run("dev", "mine", "6")
    await platform.until("the channel is active", lambda: has_channel(node))
    # An active channel is found by payments only once it is in lnd's own graph.
    ours = (await node.call("GET", "/v1/getinfo"))["identity_pubkey"]
    for call, end in (
        (node.call, treasury["identity_pubkey"]),
        (platform.treasury, ours),
    ):
        way = f"/v1/graph/routes/{end}/2100"
        await platform.until("payments find it", partial(is_answered, call, way))


async def is_answered(call: Callable[..., Awaitable[object]], path: str) -> bool:
    try:
        await call("GET", path)
    except NodeRefused:
        return False
    return True


async def has_channel(node: Owned) -> bool:
    channels = await node.call("GET", "/v1/channels")
    return any(each["active"] for each in channels["channels"])


async def curl(
    platform: RunningPlatform, node: Owned, path: str, *words: str
) -> tuple[int, str]:
    """Call a node as a shell would, trusting what GET cert said and nothing else."""
    chain = platform.home.parent / f"{node.id}.pem"
    shown = await platform.of(node, "GET", "/cert")
    chain.write_bytes(base64.b64decode(shown["tls_cert"]))
    gateway = platform.facts["gateway"]
    port = gateway["rest_port"]
    command = await asyncio.create_subprocess_exec(
        "curl",
        "--silent",
        "--cacert",
        str(chain),
        "--resolve",
        f"{node.endpoint}:{port}:{gateway['host']}",
        *words,
        f"https://{node.endpoint}:{port}{path}",
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await command.communicate()
    return command.returncode or 0, output.decode()


@needs("curl")
async def test_from_the_wish_to_the_end(platform: RunningPlatform) -> None:
    node = await platform.create("harbour light")
    await platform.says(node, "waiting_init")

    assert await curl(platform, node, "/v1/state") == (0, '{"state":"NON_EXISTING"}')

    await node.init()
    await platform.says(node, "running")
    info = await node.call("GET", "/v1/getinfo")
    assert info["alias"] == "harbour light"
    assert info["color"] == "#ff9900"
    assert info["version"].startswith("0.20.2-beta")
    assert not list(platform.folder(node).rglob("*.macaroon"))

    await in_business(platform, node)
    bill = await platform.treasury("POST", "/v1/invoices", {"value": "2100"})
    paid = await node.call(
        "POST",
        "/v1/channels/transactions",
        {"payment_request": bill["payment_request"], "amt": "2100"},
    )
    assert paid["payment_error"] == ""
    assert paid["payment_preimage"]

    ours = await node.call("POST", "/v1/invoices", {"value": "700", "memo": "oil"})
    sent = await platform.treasury(
        "POST",
        "/v1/channels/transactions",
        {"payment_request": ours["payment_request"]},
    )
    assert sent["payment_error"] == ""
    found = await node.call(
        "GET", f"/v1/invoice/{base64.b64decode(ours['r_hash']).hex()}"
    )
    assert (found["state"], found["amt_paid_sat"]) == ("SETTLED", "700")

    backup = await platform.of(node, "GET", "/backup")
    assert len(base64.b64decode(backup["channel_backup"])) > 50

    assert (await platform.of(node, "POST", "/stop"))["status"] == "stopping"
    await platform.says(node, "stopped")
    with pytest.raises(NodeAway):
        await node.call("GET", "/v1/state")

    await platform.of(node, "POST", "/start")
    await platform.says(node, "waiting_unlock")
    with pytest.raises(NodeRefused):
        await node.call("GET", "/v1/getinfo")
    await node.unlock()
    await platform.says(node, "running")
    await platform.until("the channel is back", lambda: has_channel(node))

    shown = await platform.of(node, "GET", "")
    history = [each["action"] for each in shown["command_history"]]
    assert history == ["start", "stop", "create"]
    lines = (await platform.of(node, "GET", "/logs"))["lines"]
    assert any("LTND" in line or "RPCS" in line for line in lines)
    figures = await platform.of(node, "GET", "/metrics")
    assert figures["memory_bytes"] > 50 << 20
    assert figures["bytes_out"] > 10_000

    folder = platform.folder(node)
    assert (await platform.of(node, "DELETE", ""))["status"] == "deleting"
    await platform.until("it is gone", lambda: is_gone(platform, node))
    assert processes.holder(folder / "claim") is None
    with pytest.raises(NodeAway):
        await node.call("GET", "/v1/state")
    assert (folder / "lnd" / "data").exists(), "its data is kept for a while"


@needs("curl")
async def test_pages_of_the_dashboard_may_talk_to_a_node_and_no_others(
    platform: RunningPlatform,
) -> None:
    node = await platform.create("shown light")
    await platform.says(node, "waiting_init")
    ours = "/".join(platform.facts["dashboard_url"].split("/")[:3])
    for origin, may in ((ours, 1), ("http://evil.example", 0)):
        request = ("--include", "--header", f"Origin: {origin}")
        _, answer = await curl(platform, node, "/v1/state", *request)
        assert answer.lower().count("access-control-allow-origin: ") == may
    await platform.of(node, "DELETE", "")


async def is_gone(platform: RunningPlatform, node: Owned) -> bool:
    try:
        await platform.of(node, "GET", "")
    except Refused as refused:
        return refused.status == 404
    return False


async def test_an_update_keeps_wallet_and_channels(platform: RunningPlatform) -> None:
    built("lnd v0.20.1-beta")  # or the platform would build it, for minutes
    node = await platform.create("updated light", version="v0.20.1-beta")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    await in_business(platform, node)
    before = await node.call("GET", "/v1/getinfo")
    assert before["version"].startswith("0.20.1-beta")
    assert (await platform.of(node, "GET", ""))["update_available"] is True

    answer = await platform.of(node, "POST", "/update")
    assert answer["lnd_version"] == "v0.20.2-beta"
    await platform.says(node, "waiting_unlock")
    await node.unlock()
    await platform.says(node, "running")
    after = await node.call("GET", "/v1/getinfo")
    assert after["version"].startswith("0.20.2-beta")
    assert after["identity_pubkey"] == before["identity_pubkey"]
    await platform.until("the channel is back", lambda: has_channel(node))
    with pytest.raises(Refused, match="409 node is already up to date"):
        await platform.of(node, "POST", "/update")
    await platform.of(node, "DELETE", "")


@pytest.mark.long
async def test_the_newest_lnd_runs_but_has_lost_the_payment_call(
    platform: RunningPlatform,
) -> None:
    node = await platform.create("newest light", version="v0.21.2-beta")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    info = await node.call("GET", "/v1/getinfo")
    assert info["version"].startswith("0.21.2-beta")
    with pytest.raises(NodeRefused):
        await node.call("POST", "/v1/channels/transactions", {"payment_request": "x"})
    with pytest.raises(NodeRefused, match="no routes provided"):  # a treasury is asked
        await node.call("POST", "/v2/router/route/send", {})
    await platform.of(node, "POST", "/restart")
    await platform.says(node, "waiting_unlock")
    await node.unlock()
    await platform.says(node, "running")
    await platform.of(node, "DELETE", "")


async def test_a_kill_of_ours_touches_no_node(platform: RunningPlatform) -> None:
    node = await platform.create("steady light")
    await platform.says(node, "waiting_init")
    claim = platform.folder(node) / "claim"
    before = processes.holder(claim)
    await platform.kill()
    assert await node.call("GET", "/v1/state") == {"state": "NON_EXISTING"}
    await platform.up()
    assert processes.holder(claim) == before
    await node.init()
    await platform.says(node, "running")

    with suppress(NodeAway):  # it may have gone before its answer is through
        await node.call("POST", "/v1/stop", {})
    await platform.says(node, "stopped")
    await asyncio.sleep(2)  # longer than the first pause after a crash
    await platform.says(node, "stopped")
    assert processes.holder(claim) is None

    await platform.of(node, "POST", "/start")
    await platform.says(node, "waiting_unlock")
    crashed = processes.holder(claim)
    assert crashed is not None
    processes.signal(crashed, 9)

    async def is_another() -> bool:
        return processes.holder(claim) not in {None, crashed}

    await platform.until("another lnd runs", is_another)
    await platform.says(node, "waiting_unlock")
    await platform.of(node, "DELETE", "")


@pytest.mark.long
async def test_guessing_at_a_password_costs_no_more_than_the_nodes_own_share(
    platform: RunningPlatform,
) -> None:
    node = await platform.create("besieged light")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.of(node, "POST", "/restart")
    await platform.says(node, "waiting_unlock")
    wrong = base64.b64encode(b"21 million").decode()
    guess = {"wallet_password": wrong, "stateless_init": True}
    guesses = (node.call("POST", "/v1/unlockwallet", guess) for _ in range(12))
    said = await asyncio.gather(*guesses, return_exceptions=True)
    assert all(isinstance(each, NodeRefused | NodeAway) for each in said), said
    assert any("invalid passphrase" in str(each) for each in said), said

    lnd = processes.holder(platform.folder(node) / "claim")
    assert lnd is not None
    status = Path(f"/proc/{lnd.pid}/status").read_text()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    assert int(peak) < 1 << 20, "a gibibyte is what such a node may take"
    await node.unlock()
    await platform.says(node, "running")
    await platform.of(node, "DELETE", "")


@pytest.mark.long
async def test_a_careless_unlock_leaves_no_macaroon_for_long(
    platform: RunningPlatform,
) -> None:
    node = await platform.create("careless light")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    await platform.of(node, "POST", "/restart")
    await platform.says(node, "waiting_unlock")
    await node.unlock(stateless=False)

    async def left() -> bool:
        return bool(list(platform.folder(node).rglob("*.macaroon")))

    async def swept() -> bool:
        return not await left()

    await platform.until("lnd leaves them", left)
    await platform.until("they are removed", swept)
    await platform.of(node, "DELETE", "")


async def test_settings_reach_lnd_and_switches_the_gateway(
    platform: RunningPlatform,
) -> None:
    node = await platform.create("dark light", settings={"whitelist": []})
    await platform.says(node, "waiting_init")
    with pytest.raises(NodeAway):
        await node.call("GET", "/v1/state")  # nobody is let in
    await platform.of(node, "POST", "/whitelist", {"whitelist": ["127.0.0.1"]})
    await platform.until("the owner is let in", lambda: answers(node))
    await platform.of(node, "POST", "/settings", {"rest": False})
    await platform.until("REST is off", lambda: is_silent(node))
    await platform.of(
        node, "POST", "/settings", {"rest": True, "alias": "harbour dark"}
    )
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    assert (await node.call("GET", "/v1/getinfo"))["alias"] == "harbour dark"
    await platform.of(node, "DELETE", "")


async def answers(node: Owned) -> bool:
    try:
        await node.call("GET", "/v1/state")
    except NodeAway:
        return False
    return True


async def is_silent(node: Owned) -> bool:
    return not await answers(node)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start others' programs")
async def test_each_node_is_a_user_of_its_own(platform: RunningPlatform) -> None:
    nodes: list[Any] = [
        await platform.create(name, settings=SETTINGS) for name in ("one", "two")
    ]
    users = set()
    for node in nodes:
        await platform.says(node, "waiting_init")
        running = processes.holder(platform.folder(node) / "claim")
        assert running is not None
        status = Path(f"/proc/{running.pid}/status").read_text()
        users.add(next(line for line in status.splitlines() if line.startswith("Uid")))
        await platform.of(node, "DELETE", "")
    assert len(users) == 2
    assert not any("\t0\t" in user for user in users)


@as_root_with_nft()
async def test_a_node_is_no_way_into_the_platform(platform: RunningPlatform) -> None:
    """Its owner tells lnd whom to call; what is private is not called."""
    node = await platform.create("curious light")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    treasury = await platform.treasury("GET", "/v1/getinfo")
    with socket.create_server(("127.0.0.1", 0)) as platform_address:
        platform_address.settimeout(0)
        for host in (f"127.0.0.1:{platform_address.getsockname()[1]}", "10.0.0.1:5432"):
            peer = {"pubkey": treasury["identity_pubkey"], "host": host}
            with pytest.raises(NodeRefused, match="no route to host"):
                await node.call("POST", "/v1/peers", {"addr": peer, "timeout": "5"})
        with pytest.raises(BlockingIOError):
            platform_address.accept()
    await platform.of(node, "DELETE", "")
