"""Each treasury, with hands that pay into it and turn its chain."""

import asyncio
import base64
import contextlib
import hashlib
import signal
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from leyden.base import processes
from leyden.base.processes.daemons import claim
from leyden.base.rules.units import Sats
from leyden.channels.payments.base import Payments
from leyden.channels.payments.lnd import LndPayments
from leyden.channels.payments.treasury import Treasury
from leyden.channels.rules.payments import PaymentRequest
from leyden.errors import NodeRefused
from leyden.nodes.lnd.connection import LndAccess
from leyden.values import replace
from leyden_workshop.devnet import access, actions, faucet
from leyden_workshop.devnet.addresses import output_script
from leyden_workshop.devnet.chain import BtcdChain, connected
from leyden_workshop.devnet.layout import DaemonPorts
from leyden_workshop.devnet.lnd import LndDaemon, access_for
from leyden_workshop.devnet.mining_key import MiningKey
from leyden_workshop.devnet.network import PrivateNetwork, stop
from leyden_workshop.devnet.spending import ScriptOutput, SpendableOutput, spend
from leyden_workshop.devnet.supervision import SupervisingKeeper
from leyden_workshop.devnet.treasury import macaroon
from tests.channels.contracts import rivals
from tests.channels.contracts.blocks import block_after
from tests.fakes.payments import FakePayments, PaymentFailed
from tests.ports import free_ports
from tests.programs import built

CHAIN = "simnet"
_CHANNEL = 10_000_000


class World(Protocol):
    """A treasury and everyone around it."""

    @property
    def payments(self) -> Payments:
        """The treasury."""
        ...

    async def pay(self, request: PaymentRequest, sats: int | None = None) -> None:
        """Begin to pay over Lightning, and wait until it is held; or PaymentFailed."""

    async def is_kept(self, request: PaymentRequest) -> bool:
        """Wait until the payer knows: True when the money came back."""

    async def send(self, address: str, sats: int) -> None:
        """Send coins that wait for a block."""

    async def mine(self, blocks: int) -> None:
        """Find blocks, and wait until the treasury has seen them."""

    async def mine_to(self, address: str, sats: int) -> None:
        """Find a block whose reward goes there."""

    async def reorganise(self, depth: int) -> None:
        """Undo blocks, and find as many others with nothing in them."""

    async def unmine(self, depth: int) -> None:
        """Undo blocks, and find one more than there were that take no transaction."""

    async def mine_nothing(self, blocks: int) -> None:
        """Find blocks that take no transaction."""

    async def leave(self) -> None:
        """Take the treasury away."""


@dataclass
class FakeWorld:
    """All in memory."""

    payments: FakePayments = field(default_factory=FakePayments)

    async def pay(self, request: PaymentRequest, sats: int | None = None) -> None:
        self.payments.pay(request, sats)

    async def is_kept(self, request: PaymentRequest) -> bool:
        return self.payments.invoices[request.payment_hash].state == "cancelled"

    async def send(self, address: str, sats: int) -> None:
        self.payments.send(address, sats)

    async def mine(self, blocks: int) -> None:
        self.payments.mine(blocks)

    async def mine_to(self, address: str, sats: int) -> None:
        self.payments.mine_to(address, sats)

    async def reorganise(self, depth: int) -> None:
        self.payments.reorganise(depth)

    async def unmine(self, depth: int) -> None:
        self.payments.reorganise(depth)
        await self.mine_nothing(depth + 1)

    async def mine_nothing(self, blocks: int) -> None:
        for _ in range(blocks):
            self.payments.mine_to("somebody else's", 1)

    async def leave(self) -> None:
        self.payments.go_away()


@dataclass(frozen=True)
class TreasuryHarness:
    """Real daemons: a chain, the treasury, and a customer with a channel to it."""

    home: Path
    programs: Mapping[str, Path]
    ports: DaemonPorts
    customer: access.LndEndpoint

    async def up(self) -> None:
        """Start it all and open the channel; what runs already is found."""
        network = self._network()
        await network.start(lambda _: None)
        await self._keeper(network).ensure()
        await self._open_channel()

    def _network(self) -> PrivateNetwork:
        return PrivateNetwork(
            self.home, programs=self.programs, ports=self.ports, chain=CHAIN
        )

    def _keeper(self, network: PrivateNetwork) -> SupervisingKeeper:
        return SupervisingKeeper(
            LndDaemon(
                name="customer",
                program=self.programs["lnd"],
                folder=self.home / "customer",
                chain=CHAIN,
                access=self.customer,
                btcd=network.access.btcd,
            )
        )

    async def treasury_killed(self) -> None:
        """End the treasury as a power cut would."""
        running = processes.holder(claim(access.folder(self.home) / "treasury"))
        assert running is not None
        processes.signal(running, signal.SIGKILL)
        await until(lambda: _is_gone(running))

    async def treasury_back(self) -> None:
        """Start it again, and wait until payments find their way to it."""
        await self._network().start(lambda _: None)
        treasury = Treasury(self.treasury_access())
        customer = Treasury(owners_access(self.customer))
        try:
            await until(lambda: _can_pay(customer, treasury), within_s=60)
        finally:
            await treasury.close()
            await customer.close()

    async def down(self) -> None:
        if running := processes.holder(claim(self.home / "customer")):
            await processes.stop(running, grace_s=30)
        await stop(self.home)

    def platform_access(self) -> LndAccess:
        """Return the treasury as the platform reaches it: by its own macaroon."""
        return replace(self.treasury_access(), macaroon=macaroon(self.home))

    def treasury_access(self) -> LndAccess:
        """Return the treasury as its owner reaches it."""
        return owners_access(access.load(self.home).lnds["treasury"])

    async def _open_channel(self) -> None:
        treasury = Treasury(self.treasury_access())
        customer = Treasury(owners_access(self.customer))
        try:
            address = await customer.call("GET", "/v1/newaddress?type=TAPROOT_PUBKEY")
            await actions.fund(self.home, address["address"], 10**8, confirmations=6)
            await synced(customer, self.home)
            info = await treasury.call("GET", "/v1/getinfo")
            peer = access.load(self.home).lnds["treasury"].peer
            whom = {"pubkey": info["identity_pubkey"], "host": peer}
            with contextlib.suppress(NodeRefused):  # already connected
                await customer.call("POST", "/v1/peers", {"addr": whom})
            await customer.call(
                "POST",
                "/v1/channels",
                {
                    "node_pubkey_string": info["identity_pubkey"],
                    "local_funding_amount": str(_CHANNEL),
                },
            )
            await actions.mine(self.home, 6)
            await until(lambda: _can_pay(customer, treasury), within_s=60)
        finally:
            await treasury.close()
            await customer.close()


@dataclass(frozen=True)
class Spent:
    """Coins that were spent, and may be spent otherwise."""

    key: MiningKey
    coins: Sequence[SpendableOutput]


@dataclass
class LndWorld:
    """A real treasury, for the length of a test."""

    harness: TreasuryHarness
    payments: LndPayments = field(init=False)
    _paying: dict[str, asyncio.Task[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        def preimage(order_id: str, sats: Sats) -> bytes:
            return hashlib.sha256(f"a secret {order_id} {sats}".encode()).digest()

        self.payments = LndPayments(self.harness.platform_access(), preimage=preimage)
        self._customer = Treasury(owners_access(self.harness.customer))
        self._treasury = Treasury(self.harness.treasury_access())

    async def customers_identity(self) -> str:
        """Return the key of another lnd."""
        answer = await self._customer.call("GET", "/v1/getinfo")
        return str(answer["identity_pubkey"])

    async def pay(self, request: PaymentRequest, sats: int | None = None) -> None:
        self.begin_to_pay(request, sats)
        paying = self._paying[request.payment_hash]

        async def is_held() -> bool:
            if paying.done():
                raise PaymentFailed(str(paying.result()))
            answer = await self._treasury.call(
                "GET", f"/v1/invoice/{request.payment_hash}"
            )
            return str(answer["state"]) == "ACCEPTED"

        await until(is_held)

    def begin_to_pay(
        self,
        request: PaymentRequest,
        sats: int | None = None,
        *,
        at_a_time: int | None = None,
    ) -> None:
        """Begin to pay over Lightning, perhaps in parts; `is_kept` says how it went."""
        paying = asyncio.create_task(self._pay(request, sats, at_a_time))
        self._paying[request.payment_hash] = paying

    async def _pay(
        self, request: PaymentRequest, sats: int | None, at_a_time: int | None
    ) -> dict[str, Any]:
        body: dict[str, object] = {
            "payment_request": request.lightning_invoice,
            "timeout_seconds": 60,
            "fee_limit_sat": "1000",
            "no_inflight_updates": True,
        }
        if sats is not None:
            decoded = await self._customer.call(
                "GET", f"/v1/payreq/{request.lightning_invoice}"
            )
            # What an invoice asks for cannot be changed; paying more is done by hand.
            body = {
                "dest": _hex_to_base64(decoded["destination"]),
                "amt": str(sats),
                "payment_hash": _hex_to_base64(request.payment_hash),
                "payment_addr": decoded["payment_addr"],
                "final_cltv_delta": int(decoded["cltv_expiry"]),
                "dest_features": [9, 14, 17],
                "timeout_seconds": 60,
                "fee_limit_sat": "1000",
                "no_inflight_updates": True,
            }
        if at_a_time is not None:
            parts = {"max_parts": 16, "max_shard_size_msat": str(1_000 * at_a_time)}
            body = {**body, **parts}
        while True:
            sent = self._customer.stream("POST", "/v2/router/send", body)
            async with aclosing(sent):
                answer = await anext(sent)
            # Two peers that lost each other both call, and drop one connection of two:
            # for a moment the channel carries nothing, and has nothing to spend.
            if answer.get("failure_reason") != "FAILURE_REASON_INSUFFICIENT_BALANCE":
                return answer
            await asyncio.sleep(0.5)

    async def parts(self, request: PaymentRequest) -> list[int]:
        """Return in which parts it was paid."""
        answer = await self._paying[request.payment_hash]
        return [
            int(each["route"]["total_amt_msat"]) // 1_000 for each in answer["htlcs"]
        ]

    async def is_kept(self, request: PaymentRequest) -> bool:
        answer = await self._paying[request.payment_hash]
        return str(answer["status"]) == "FAILED"

    async def send(self, address: str, sats: int) -> None:
        await actions.fund(self.harness.home, address, sats, confirmations=0)
        await asyncio.sleep(0)

    async def send_replaceably(self, address: str, sats: int) -> Spent:
        """Send coins in a transaction that another may still replace."""
        key = MiningKey.load_or_create(access.folder(self.harness.home) / "mining.key")
        async with self._chain() as chain:
            script = output_script(CHAIN, address)
            coins = await faucet._coins(
                chain, key, [ScriptOutput(sats, script)], passed_over=set()
            )
        spent = Spent(key, coins)
        await self.spend_again(spent, address, sats, fee=2_000)
        return spent

    async def spend_again(
        self, spent: Spent, address: str, sats: int, *, fee: int
    ) -> None:
        """Spend the same coins once more: the higher fee wins."""
        change = sum(coin.sats for coin in spent.coins) - sats - fee
        paid = ScriptOutput(sats, output_script(CHAIN, address))
        back = ScriptOutput(change, spent.key.output_script)
        raw = spend(spent.coins, [paid, back], spent.key, replaceable=True)
        async with self._chain() as chain:
            await chain.call("sendrawtransaction", raw.hex())

    async def undo(self, depth: int) -> None:
        """Undo blocks; what they held waits for others."""
        async with self._chain() as chain:
            height = await chain.height()
            first = await chain.call("getblockhash", height - depth + 1)
            await chain.call("invalidateblock", first)

    async def mine(self, blocks: int) -> None:
        async with self._chain() as chain:
            await chain.mine(blocks)
        await synced(self._treasury, self.harness.home)

    async def mine_to(self, address: str, sats: int) -> None:
        async with self._chain() as chain:
            before = await chain.call("getblockheader", await _best(chain))
            script = output_script(CHAIN, address)
            block = block_after(before, ScriptOutput(sats, script))
            await chain.call("submitblock", block.hex())
            assert (await chain.height()) == before["height"] + 1
        await synced(self._treasury, self.harness.home)

    async def reorganise(self, depth: int) -> None:
        await self.undo(depth)
        await self.mine(depth + 1)

    async def unmine(self, depth: int) -> None:
        async with self._chain() as chain:
            await rivals.unmine(chain, depth)
        await synced(self._treasury, self.harness.home)

    async def mine_nothing(self, blocks: int) -> None:
        async with self._chain() as chain:
            await rivals.mine_nothing(chain, blocks)
        await synced(self._treasury, self.harness.home)

    async def leave(self) -> None:
        await self.payments.close()
        self.payments = LndPayments(
            LndAccess(
                host="127.0.0.1",
                port=1,
                certificate=self.harness.treasury_access().certificate,
                macaroon=self.harness.treasury_access().macaroon,
            ),
            preimage=lambda *_: b"",
        )

    @contextlib.asynccontextmanager
    async def _chain(self) -> AsyncIterator[BtcdChain]:
        async with connected(access.load(self.harness.home).btcd) as chain:
            yield chain

    async def close(self) -> None:
        for paying in self._paying.values():
            paying.cancel()
        await asyncio.gather(*self._paying.values(), return_exceptions=True)
        await self.payments.close()
        await self._customer.close()
        await self._treasury.close()


async def synced(lnd: Treasury, home: Path) -> None:
    """Wait until an lnd has seen the newest block."""
    async with connected(access.load(home).btcd) as chain:
        best = await _best(chain)

    async def is_reached() -> bool:
        info = await lnd.call("GET", "/v1/getinfo")
        return bool(info["block_hash"] == best and info["synced_to_chain"])

    await until(is_reached, within_s=60)


async def _best(chain: BtcdChain) -> str:
    return str(await chain.call("getbestblockhash"))


async def until(
    condition: Callable[[], Awaitable[bool]], *, within_s: float = 30
) -> None:
    async with asyncio.timeout(within_s):
        while not await condition():
            await asyncio.sleep(0.05)


async def _is_gone(process: processes.ProcessIdentity) -> bool:
    return not processes.alive(process)


async def _can_pay(payer: Treasury, payee: Treasury) -> bool:
    """Try it: an active channel carries nothing for the first second or two."""
    invoice = await payee.call("POST", "/v1/invoices", {"value": "1000"})
    body = {
        "payment_request": invoice["payment_request"],
        "timeout_seconds": 10,
        "no_inflight_updates": True,
    }
    async with aclosing(payer.stream("POST", "/v2/router/send", body)) as answer:
        async for payment in answer:
            return str(payment["status"]) == "SUCCEEDED"
    return False


def customer_access(
    home: Path, *, rest: int, grpc: int, peer: int
) -> access.LndEndpoint:
    return access_for(home / "customer", CHAIN, rest=rest, grpc=grpc, peer=peer)


def owners_access(lnd: access.LndEndpoint) -> LndAccess:
    """Return an lnd as its owner reaches it."""
    host, _, port = lnd.rest.rpartition(":")
    return LndAccess(
        host=host,
        port=int(port),
        certificate=Path(lnd.certificate),
        macaroon=Path(lnd.macaroon),
    )


def _hex_to_base64(value: str) -> str:
    return base64.b64encode(bytes.fromhex(value)).decode()


@contextlib.contextmanager
def opened(home: Path) -> Iterator[TreasuryHarness]:
    btcd, peer, grpc, rest, *customer = free_ports(7)
    treasury = TreasuryHarness(
        home,
        built("btcd", "lnd"),
        DaemonPorts(
            btcd=btcd, treasury_peer=peer, treasury_grpc=grpc, treasury_rest=rest
        ),
        customer_access(
            home, **dict(zip(("rest", "grpc", "peer"), customer, strict=True))
        ),
    )
    # In a thread of its own: whoever asks for it is in a loop already.
    with ThreadPoolExecutor(1) as thread:
        try:
            thread.submit(asyncio.run, treasury.up()).result()
            yield treasury
        finally:
            thread.submit(asyncio.run, treasury.down()).result()
