"""`leyden channels use-ticket`: a ticket becomes a channel, with everything real."""

import asyncio
import json
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from leyden.base import processes
from leyden.base.processes.daemons import claim as claim_file
from leyden.client import macaroons
from leyden.customer.claim.state import ClaimFolder, TicketClaim
from leyden.errors import LeydenError
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import LndClient, connect
from leyden_workshop.devnet import trading
from leyden_workshop.devnet.calls import calling
from leyden_workshop.devnet.hosted_node import HostedNode
from tests.stories.platform import LEYDEN, RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]
NOBODY_SELLS = {"bps": 1}  # for so little


class Claimant:
    """The owner of a hosted node, and the commands typed on their machine."""

    def __init__(
        self, platform: RunningPlatform, node: HostedNode, lnd: LndClient, folder: Path
    ) -> None:
        self.town, self.node, self._lnd = platform, node, lnd
        self._environment = {**platform.environment, "XDG_STATE_HOME": str(folder)}
        self._admin = folder / "admin.macaroon"
        self._admin.write_bytes(bytes.fromhex(node.macaroon))

    async def order(self, **wish: int) -> str:
        """Order a channel, pay it, and return the order's id."""
        await self.town.spend_credit()
        made = await self.town.api(
            "POST", "/flow/create", {"capacity": 500_000, **wish}
        )
        await trading.pay(self.town.home, made["lightning_invoice"])
        return str(made["order_id"])

    def claim_folder(self, order_id: str) -> ClaimFolder:
        return ClaimFolder(order_id, self._environment)

    async def type(self, order_id: str) -> Process:
        return await asyncio.create_subprocess_exec(
            *(LEYDEN, "claim", order_id, "--for", self.node.node_id, "--json"),
            *("--macaroon-file", str(self._admin)),
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def claim(self, order_id: str) -> tuple[int, str, str]:
        """Type the command, and return its exit code and what it printed."""
        command = await self.type(order_id)
        printed, said = await command.communicate()
        assert command.returncode is not None
        return command.returncode, printed.decode(), said.decode()

    async def typed_until(
        self, words: str, order_id: str
    ) -> asyncio.subprocess.Process:
        """Type the command, and return once it says these words."""
        command = await self.type(order_id)
        assert command.stderr is not None
        said = b""
        async with asyncio.timeout(60):
            while words.encode() not in said.replace(b"\n", b" "):
                more = await command.stderr.read(1 << 16)
                assert more, said.decode()
                said += more
        return command

    async def call(
        self, method: str, path: str, body: Any = None, *, macaroon: str = ""
    ) -> dict[str, Any]:
        macaroon = macaroon or self.node.macaroon
        return await self._lnd.call(method, path, body, macaroon=macaroon)

    async def root_keys(self) -> set[str]:
        answer = await self.call("GET", "/v1/macaroon/ids")
        return {str(each) for each in answer["root_key_ids"]}

    async def channels(self) -> set[str]:
        pending = await self.call("GET", "/v1/channels/pending")
        opened = await self.call("GET", "/v1/channels")
        waiting = [each["channel"] for each in pending["pending_open_channels"]]
        return {each["channel_point"] for each in (*waiting, *opened["channels"])}

    async def status(self, order_id: str) -> dict[str, Any]:
        wish = {"order_id": order_id}
        found: dict[str, Any] = await self.town.api("POST", "/flow/status", wish)
        return found

    async def poold_is_gone(self, order_id: str) -> None:
        path = claim_file(self.claim_folder(order_id).folder)

        async def gone() -> bool:
            return processes.holder(path) is None

        await self.town.until("poold has ended", gone)


@pytest_asyncio.fixture(loop_scope="session")
async def claimant(
    trading_platform: RunningPlatform, tmp_path: Path
) -> AsyncIterator[Claimant]:
    await trading_platform.opens()
    async with calling(trading_platform.home) as call:
        node = HostedNode(trading_platform.home, call, "")
        await node.open()
        trusted = Path(trading_platform.facts["ca_path"]).read_text()
        async with connect(node.rest, trusting(trusted)) as lnd:
            yield Claimant(trading_platform, node, lnd, tmp_path)


async def test_a_ticket_becomes_a_channel_of_a_hosted_node(claimant: Claimant) -> None:
    before = await claimant.root_keys()
    order_id = await claimant.order()
    code, printed, said = await claimant.claim(order_id)
    assert code == 0, said
    body = json.loads(printed)
    assert body["channel_point"] in await claimant.channels()
    assert (await claimant.status(order_id))["channel_point"] == body["channel_point"]
    assert await claimant.root_keys() == before
    assert not claimant.claim_folder(order_id).folder.exists()
    code, _, said = await claimant.claim(order_id)
    assert (code, "its channel is" in said) == (5, True)
    assert "the books are right" in await claimant.town.run("verify")


async def test_a_claim_that_is_killed_goes_on(claimant: Claimant) -> None:
    """Killed, stopped, and its order cancelled: no macaroon and no poold is left."""
    before = await claimant.root_keys()
    order_id = await claimant.order(**NOBODY_SELLS)
    killed = await claimant.typed_until("waiting for a seller", order_id)
    await refuses_what_poold_never_calls(claimant, order_id)
    killed.send_signal(signal.SIGKILL)
    await killed.communicate()
    stored = claimant.claim_folder(order_id)
    first = stored.load()
    assert first is not None
    assert await claimant.root_keys() == before | {str(first.root_key)}
    await claimant.poold_is_gone(order_id)  # its bridge to lnd has ended
    stopped = await claimant.typed_until("waiting for a seller", order_id)
    second = stored.load()
    assert second is not None
    assert await claimant.root_keys() == before | {str(second.root_key)}
    code, _, said = await claimant.claim(order_id)
    assert (code, "is running" in said) == (5, True), said
    stopped.send_signal(signal.SIGINT)
    await stopped.communicate()
    assert stopped.returncode == 130
    assert await claimant.root_keys() == before
    await claimant.poold_is_gone(order_id)
    assert stored.load() == TicketClaim(node_id=claimant.node.node_id)
    await claimant.town.api("POST", "/flow/cancel", {"order_id": order_id})
    code, _, said = await claimant.claim(order_id)
    assert (code, "the order is cancelled" in said) == (5, True), said
    assert not stored.folder.exists()


async def refuses_what_poold_never_calls(claimant: Claimant, order_id: str) -> None:
    """Whoever has poold's macaroon can neither pay nor send, open, close or bake."""
    running = processes.holder(claim_file(claimant.claim_folder(order_id).folder))
    assert running is not None
    (path,) = (
        word.partition("=")[2]
        for word in processes.command_line(running)
        if word.startswith("--lnd.macaroonpath=")
    )
    macaroon = Path(path).read_bytes().hex()
    (expires,) = macaroons.parse(macaroon).caveats
    assert expires.startswith("time-before ")
    assert await claimant.call("GET", "/v1/getinfo", macaroon=macaroon)
    for method, path, body in (
        ("POST", "/v1/transactions", {"addr": "", "amount": "1000"}),
        ("POST", "/v1/channels/transactions", {"payment_request": ""}),
        ("POST", "/v1/channels", {"local_funding_amount": "20000"}),
        ("DELETE", f"/v1/channels/{'00' * 32}/0", None),
        ("POST", "/v1/macaroon", {"permissions": []}),
        ("GET", "/v1/invoices", None),
        ("GET", "/v1/balance/blockchain", None),
    ):
        with pytest.raises(LeydenError, match="permission denied"):
            await claimant.call(method, path, body, macaroon=macaroon)


async def test_only_a_paid_ticket_is_claimed(claimant: Claimant) -> None:
    await claimant.town.spend_credit()
    made = await claimant.town.api("POST", "/flow/create", {"capacity": 500_000})
    code, _, said = await claimant.claim(made["order_id"])
    assert (code, "pay the order first" in said) == (5, True), said
    await claimant.town.api("POST", "/flow/cancel", {"order_id": made["order_id"]})
    assert not claimant.claim_folder(made["order_id"]).folder.exists()
