"""A seller in memory, with peers that refuse, leave, or freeze on request.

It keeps the contract of `Seller` to the letter, unpleasant parts included: an answer
can get lost although the channel comes, a channel can be signed and not published, and
a coin that an opening has locked is nobody else's.
"""

import hashlib
from collections.abc import Collection, Iterable, Sequence

from leyden.base.rules.units import Sats
from leyden.channels.direct.base import BumpRefused, WantedOpening
from leyden.channels.direct.connection import BUMP
from leyden.channels.direct.rules.fundings import CHILD_VBYTES, WalletTransaction
from leyden.channels.direct.rules.openings import (
    LSPS,
    SCID_ALIAS,
    ZERO_CONF,
    ClosedChannel,
    Coin,
    Opening,
    OpeningRefused,
    OpeningState,
    SellerWallet,
    takes_zero_conf,
)
from leyden.channels.rules.payments import Outpoint
from leyden.errors import SellerAway
from leyden.values import replace
from tests.fakes.channels import OpenedChannel


class FakeSeller:
    """Coins, peers and channels in memory, for the length of a test."""

    def __init__(self, *, pubkey: str = f"02{'79be667e' * 8}") -> None:
        self.pubkey = pubkey
        self.away = False
        self.synced = True  # with its chain
        self.answers_lost = 0  # so many of the next answers never arrive
        self.online: set[str] = set()  # peers that are connected
        self.dialled: list[tuple[str, str]] = []
        self.wallets = 0  # how often it was read
        self.reached: set[str] = set()  # HOST:PORT at which a peer answers
        self.refuses = ""  # why the peer refuses, if it does
        self.freezes = False  # the peer does not respond, nor will
        self.locks_end = False  # of coins, although their opening may still come
        self.publishes = True
        self.fee_sat_per_vb = 10
        self.height = 1_000
        self.own_features: frozenset[int] = frozenset({ZERO_CONF, LSPS})
        self.peer_features: frozenset[int] = frozenset({SCID_ALIAS, ZERO_CONF})
        self.accepts_zero_conf = True  # an acceptor of each peer's lets it in
        self.coins: dict[Outpoint, Coin] = {}
        self.channels: dict[str, OpenedChannel] = {}  # by channel point
        self.ended: list[ClosedChannel] = []
        self.mined_from = 0  # sat per vbyte below which no block takes a funding
        self.bumpable = True  # our macaroon may bump
        self.proves = True  # ... and compare blocks
        self.bumps: list[tuple[Outpoint, Sats]] = []
        self.reachable_by = Sats(0)  # what payers can send through announced channels

    # What the platform asks.

    async def wallet(self) -> SellerWallet:
        """Return the seller's keys, coins and chain."""
        self.check_reachable()
        self.wallets += 1
        locked = self._locked()
        return SellerWallet(
            pubkey=self.pubkey,
            uri=f"{self.pubkey}@seller.example:9735",
            height=self.height,
            synced=self.synced,
            coins=tuple(c for at, c in sorted(self.coins.items()) if at not in locked),
            unconfirmed=Sats(0),
            locked=Sats(sum(self.coins[at].sats for at in locked)),
            fee_sat_per_vb=self.fee_sat_per_vb,
            features=self.own_features,
            peers=frozenset(self.online),
        )

    async def connect(self, pubkey: str, addresses: Sequence[str]) -> bool:
        """Return whether the peer is connected; dial it if it is not."""
        self.check_reachable()
        for address in addresses:
            if pubkey in self.online:
                break
            self.dialled.append((pubkey, address))
            if address in self.reached:
                self.online.add(pubkey)
        return pubkey in self.online

    async def features(self, pubkey: str) -> frozenset[int] | None:
        """Return the feature bits of a connected peer."""
        self.check_reachable()
        return self.peer_features if pubkey in self.online else None

    async def find(self, order_id: str, coins: Sequence[Coin]) -> Opening:
        """Look for the channel by its memo, then for an opening by its coins."""
        self.check_reachable()
        for channel in self.channels.values():
            if channel.wanted.order_id == order_id and channel.signed:
                return channel.opening(self.height)
        if self._locked() & {coin.outpoint for coin in coins}:
            return Opening(state=OpeningState.UNDECIDED)
        return Opening(state=OpeningState.NONE)

    async def open(self, wanted: WantedOpening) -> Opening | OpeningRefused:
        """Open a channel, unless its peer or its coins are in the way."""
        self.check_reachable()
        if wanted.pubkey not in self.online:
            return OpeningRefused("the peer is not online", offline=True)
        if why := self.why_not(wanted):
            return OpeningRefused(why)
        txid = hashlib.sha256(f"{wanted.order_id} {len(self.channels)}".encode())
        channel = OpenedChannel(
            wanted=wanted,
            point=f"{txid.hexdigest()}:0",
            signed=not self.freezes,
        )
        self.channels[channel.point] = channel
        if self.freezes:
            raise SellerAway(why="the seller does not respond", retry_after_s=5)
        if self.publishes:
            self.publish_one(channel)
        self.maybe_lose_answer()
        return channel.opening(self.height)

    async def closed(self) -> list[ClosedChannel]:
        """List channels that are closed."""
        self.check_reachable()
        return list(self.ended)

    async def channel_ids(self, pubkey: str) -> dict[str, str]:
        """Return the short channel ids of a node's open, confirmed channels."""
        self.check_reachable()
        ended = {each.point for each in self.ended}
        return {
            point: f"{channel.since + 1}x{number}x0"
            for number, (point, channel) in enumerate(self.channels.items(), 1)
            if channel.wanted.pubkey == pubkey
            and channel.published
            and self.height > channel.since
            and point not in ended
        }

    async def spending(
        self, coins: Collection[Outpoint], *, since: int
    ) -> list[WalletTransaction]:
        """List what spends these coins, and what spends the change of that."""
        del since
        self.check_reachable()
        found: list[WalletTransaction] = []
        for channel in self.channels.values():
            if set(coins).isdisjoint(each.outpoint for each in channel.wanted.coins):
                continue
            if channel.rival:
                found.append(channel.conflict(self.height, proven=self.proves))
            elif channel.published and not channel.forgotten:
                channel.mine(self.height, least=self.mined_from)
                found.append(channel.funding(self.height, proven=self.proves))
                found += [channel.child] if channel.child else []
        return found

    async def bump(self, outpoint: Outpoint, fee: Sats) -> BumpRefused | None:
        """Spend the change of a funding with that fee."""
        self.check_reachable()
        if not self.bumpable:
            return BumpRefused("permission denied", forbidden=True)
        self.bumps.append((outpoint, fee))
        for channel in self.channels.values():
            if channel.point.startswith(outpoint.txid):
                if channel.block:
                    return BumpRefused("a confirmed transaction")
                channel.child = WalletTransaction(
                    txid=hashlib.sha256(f"child {channel.point}".encode()).hexdigest(),
                    confirmations=0,
                    fee=fee,
                    vbytes=CHILD_VBYTES,
                    spends=(outpoint,),
                )
        self.maybe_lose_answer()
        return None

    async def denied(self) -> list[str]:
        """List the permissions that our macaroon lacks."""
        self.check_reachable()
        return [] if self.bumpable else [BUMP]

    async def inbound(self) -> Sats:
        """Return what payers can send through the seller's announced channels."""
        self.check_reachable()
        return self.reachable_by

    async def address(self) -> str:
        """Return an address of the wallet."""
        self.check_reachable()
        return f"bcrt1p{'q' * 58}"

    async def close(self) -> None:
        """Do nothing: it has no connections."""

    def why_not(self, wanted: WantedOpening) -> str:
        """Return why a channel isn't opened; "" if it is."""
        free = set(self.coins) - self._locked()
        if not {coin.outpoint for coin in wanted.coins} <= free:
            return "a coin is spent or locked"
        if sum(coin.sats for coin in wanted.coins) < wanted.capacity:
            return "not enough witness outputs"
        if wanted.pubkey not in self.online:
            return "the peer is not online"
        return self.refuses or (self._zero_conf() if wanted.zero_conf else "")

    def _zero_conf(self) -> str:
        """Return why a peer takes no channel without confirmations; "" if it does."""
        if not takes_zero_conf(self.peer_features):
            return "requested channel type not supported"
        return "" if self.accepts_zero_conf else "channel rejected"

    def check_reachable(self) -> None:
        """Raise SellerAway if it does not respond."""
        if self.away:
            raise SellerAway(retry_after_s=5)

    def maybe_lose_answer(self) -> None:
        """Raise SellerAway although all is done, if answers are to be lost."""
        if self.answers_lost:
            self.answers_lost -= 1
            raise SellerAway(retry_after_s=5)

    def _locked(self) -> set[Outpoint]:
        if self.locks_end:
            return set()
        return {
            coin.outpoint
            for channel in self.channels.values()
            if not channel.published
            for coin in channel.wanted.coins
        }

    def publish_one(self, channel: OpenedChannel) -> None:
        """Spend the channel's coins."""
        channel.published = True
        channel.since = self.height
        for coin in channel.wanted.coins:
            del self.coins[coin.outpoint]
        if change := channel.change:
            self.coins[change.outpoint] = change

    # What the world does.

    def fill(self, sats: Iterable[int]) -> None:
        """Add coins to the wallet."""
        for amount in sats:
            txid = hashlib.sha256(f"coin {len(self.coins)} {amount}".encode())
            outpoint = Outpoint(txid.hexdigest(), len(self.coins))
            self.coins[outpoint] = Coin(sats=Sats(amount), outpoint=outpoint)

    def thaw(self, *, refuses: bool) -> None:
        """Let frozen peers answer: sign, or be gone."""
        self.freezes = False
        for point, channel in list(self.channels.items()):
            if not channel.signed and refuses:
                del self.channels[point]
            elif not channel.signed:
                channel.signed = True
                if self.publishes and not channel.deferred:
                    self.publish_one(channel)

    def publish(self) -> None:
        """Publish what was signed and is nowhere yet, as lnd does at its start."""
        for channel in self.channels.values():
            if channel.signed and not (channel.published or channel.deferred):
                self.publish_one(channel)

    def reorganise(self, point: str) -> None:
        """Undo the block that has a funding, and find another without it."""
        self.height += 1
        self.channels[point].block = 0
        self.channels[point].since = self.height

    def take_coin(self, point: str) -> None:
        """Spend the coin of a funding in another transaction, in the next block."""
        self.height += 1
        self.channels[point].rival = self.height
        self.channels[point].block = 0

    def close_channel(self, point: str) -> None:
        """Close a channel in the next block."""
        self.height += 1
        self.ended.append(ClosedChannel(point=point, height=self.height))

    def opened_for(self, order_id: str) -> list[OpenedChannel]:
        """List the channels of an order: never more than one."""
        return [
            replace(each)
            for each in self.channels.values()
            if each.wanted.order_id == order_id
        ]
