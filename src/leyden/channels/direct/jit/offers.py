"""The LSPS2 server: menus, and orders that cost their clients nothing.

An order is a row until somebody pays it: no coins, no invoice. A flood of them leaves
nothing, because they expire and are deleted, and because their number is limited.
"""

import hmac
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from leyden.base.database.stores import Stores
from leyden.base.rules.times import from_us
from leyden.base.rules.units import Sats
from leyden.channels.direct import reservations
from leyden.channels.direct.base import Purse
from leyden.channels.direct.jit.purse import RecentWallet, is_stranger
from leyden.channels.direct.lsps1.rpc import Transaction
from leyden.channels.direct.rules import jit, lsps1
from leyden.channels.direct.rules.jit import JitOffer, JitOrder, JitStatus
from leyden.channels.direct.rules.openings import ZERO_CONF
from leyden.channels.rules.sources import Source
from leyden.channels.services import ChannelServices, JitSettings

_PROMISE: Final = "just-in-time offer"
_FRESH_S: Final = 30.0
_RANDOM: Final = 2**57
_NEVER: Final = from_us(0)
# Orders that nobody has paid, of all peers. Keys are free, so a limit for each of them
# limits nothing.
MOST_SOLD: Final = 10_000


class JitOffers:
    """Sells just-in-time channels to peers of the purse's lnd."""

    def __init__(
        self, channels: ChannelServices, purse: Purse, rules: JitSettings
    ) -> None:
        self._channels, self._purse, self._rules = channels, purse, rules
        self._wallet = RecentWallet(channels, purse)

    async def result(
        self, peer: str, request: Mapping[str, Any], transaction: Transaction | None
    ) -> dict[str, Any]:
        """Return the result of a peer's request."""
        params = lsps1.params_of(request)
        match request["method"]:
            case "lsps0.list_protocols":
                lsps1.check_known(params, ())
                return {"protocols": [2]}
            case "lsps2.get_info":
                jit.check_token(params)
                return {"opening_fee_params_menu": [await self._menu(peer)]}
            case "lsps2.buy":
                transaction = transaction or self._channels.database.transaction
                order = await self._buy(peer, params, transaction)
                return {
                    "jit_channel_scid": order.id,
                    "lsp_cltv_expiry_delta": jit.CLTV_DELTA,
                    "client_trusts_lsp": order.trusts,
                }
        raise lsps1.unknown_method()

    async def offer(self) -> JitOffer:
        """Return what is offered now; raise a fault if nothing is."""
        self._check_sold()
        rules, wallet = self._rules, await self._wallet.get(fresh_s=_FRESH_S)
        if ZERO_CONF not in wallet.features:
            raise lsps1.rejected("no channels without confirmations are sold now")
        if wallet.fee_sat_per_vb > rules.highest_sat_per_vb:
            raise lsps1.rejected("chain fees are too high for now; try again later")
        least_fee = jit.funding_cost(wallet.fee_sat_per_vb) + rules.fee_base
        return JitOffer(
            min_fee_msat=least_fee * jit.MSAT,
            ppm=rules.fee_ppm,
            valid_until=self._channels.clock() + rules.lives,
            least_msat=max(rules.smallest, 2 * least_fee) * jit.MSAT,
            most_msat=rules.largest * jit.MSAT,
        )

    def _check_sold(self) -> None:
        if Source.JIT not in self._channels.rules.sources:
            raise lsps1.rejected("no just-in-time channels are sold now")

    async def _menu(self, peer: str) -> dict[str, Any]:
        offer = (await self.offer()).as_json()
        return {**offer, "promise": self._promise(peer, offer)}

    def _promise(self, peer: str, offer: Mapping[str, Any]) -> str:
        content = jit.promised(peer, offer)
        return self._channels.sealer.digest(content, purpose=_PROMISE).hex()

    async def _buy(
        self, peer: str, params: Mapping[str, Any], transaction: Transaction
    ) -> JitOrder:
        offer, size_msat = jit.parse_buy(params)
        self._check_sold()
        # `compare_digest` of texts wants ASCII.
        given = offer["promise"].encode()
        if not hmac.compare_digest(self._promise(peer, offer).encode(), given):
            raise jit.bad_offer("was not offered to this node")
        now = self._channels.clock()
        valid_until = datetime.fromisoformat(offer["valid_until"])
        if valid_until <= now:
            raise jit.bad_offer("is no longer valid")
        fee_msat = jit.price(offer, size_msat)
        capacity = jit.capacity_for(size_msat, self._rules.spare)
        wallet = await self._wallet.get(fresh_s=_FRESH_S)
        reserved = await self._channels.database.reader.jit_orders.reserved()
        if not reservations.choose_for(
            wallet, reserved, capacity, wallet.fee_sat_per_vb
        ):
            raise lsps1.rejected("channels are sold out for now; try again later")
        trusts = self._rules.client_trusts_lsp and await is_stranger(
            self._channels, self._purse, peer
        )
        async with transaction() as tx:
            await self.check_limits(tx, peer, now, purse=wallet.pubkey)
            while True:
                order = JitOrder(
                    id=jit.scid_from(secrets.randbelow(_RANDOM)),
                    purse=wallet.pubkey,
                    peer=peer,
                    status=JitStatus.SOLD,
                    created=now,
                    valid_until=valid_until,
                    size_msat=size_msat,
                    fee_msat=fee_msat,
                    capacity=Sats(capacity),
                    held_at=_NEVER,
                    resumed_at=_NEVER,
                    trusts=trusts,
                )
                if await tx.jit_orders.add(order):
                    return order

    async def check_limits(
        self, tx: Stores, peer: str, now: datetime, *, purse: str
    ) -> None:
        """Raise a fault if a node, or all together, have too many unpaid orders."""
        orders = tx.jit_orders
        if await orders.sold_to(peer, purse=purse) >= self._rules.orders_per_peer:
            raise lsps1.rejected(
                "this node has too many unpaid orders; wait until they expire"
            )
        if await orders.unpaid_by(peer, since=now - jit.UNPAID_COUNTS):
            raise lsps1.rejected(
                "this node has a channel whose payment it did not take"
            )
        if await orders.sold(purse) >= MOST_SOLD:
            raise lsps1.rejected("there are too many unpaid orders; try again later")
