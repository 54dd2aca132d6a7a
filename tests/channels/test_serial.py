"""Whatever happens at once could have happened one after the other.

A handful of things are done to the same money in the same moment. What each is
answered, and what is there afterwards, is what the model says for some order of them.
"""

import asyncio
import contextlib
import copy
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from leyden.channels.money import corrections, credit
from leyden.channels.money.corrections import Correction
from leyden.channels.rules.orders import Order
from leyden.errors import Conflict, NotAllowed, NotFound, Stale
from tests.channels.model import Model
from tests.channels.orders_harness import (
    HARBOUR,
    LIGHTHOUSE,
    PRICE,
    OrdersHarness,
    request_of,
)
from tests.fakes.payments import PaymentFailed

TEAMS = (HARBOUR, LIGHTHOUSE)
ROUNDS = 10
AT_ONCE = 5
_SEED = random.SystemRandom().randrange(2**32)

Answer = str | int
Deed = tuple[str, str, str, int]  # what, who, on what, how much


@dataclass
class Books:
    """The model, and who claimed which coupon."""

    model: Model
    claimed: set[str] = field(default_factory=set)

    def do(self, deed: Deed) -> Answer:
        what, who, name, sats = deed
        model, answer = self.model, "done"
        if what == "create":
            assert model.create(name, who, PRICE)
            return model.sales[name].credit_used
        if what == "redeem" and name not in self.claimed:
            self.claimed.add(name)
            model.redeem(who, sats)
            return model.credit[who]
        if what == "redeem":
            answer = "not found"
        elif what == "debit" and model.credit[who] < sats:
            answer = "conflict"
        elif what == "debit":
            model.credit[who] -= sats
        elif what == "cancel":
            done = model.cancel(name)
            return model.sales[name].refund if done else "not allowed"
        elif self._waits(name):
            model.pay(name, model.sales[name].to_be_paid)
        return answer

    def _waits(self, name: str) -> bool:
        sale = self.model.sales[name]
        return (sale.status, sale.invoice) == ("waiting_payment", "open")

    def stands(self) -> tuple[object, ...]:
        credits_ = [self.model.credit[who] for who in TEAMS]
        return credits_, {name: s.status for name, s in self.model.sales.items()}


@dataclass
class Street:
    """The shop, and people who all come at once."""

    harness: OrdersHarness
    dice: random.Random
    orders: dict[str, Order] = field(default_factory=dict)
    deeds: int = 0

    async def do(self, deed: Deed) -> Answer:
        what, who, name, sats = deed
        harness = self.harness
        match what:
            case "create":
                self.orders[name] = await harness.create(who=who)
                return self.orders[name].credit_used
            case "redeem":
                return await self.redeem(who, name)
            case "debit":
                return await self.debit(who, name, sats)
            case "cancel":
                try:
                    return (await harness.cancel(self.orders[name], who)).credit_refund
                except NotAllowed:
                    return "not allowed"
        with contextlib.suppress(PaymentFailed):  # paid before, or closed
            harness.payments.pay(request_of(self.orders[name]))
        await harness.hear()
        return "done"

    async def redeem(self, who: str, coupon: str) -> Answer:
        while True:
            try:
                left, _ = await credit.redeem(
                    self.harness.database,
                    who,
                    coupon,
                    actor="test",
                    now=self.harness.now,
                    guesses=1_000,
                )
            except Stale:
                continue
            except NotFound:
                return "not found"
            return left

    async def debit(self, who: str, key: str, sats: int) -> Answer:
        try:
            await corrections.correct(
                self.harness.database,
                who,
                Correction.DEBIT,
                sats=sats,
                reason="the harbour's dues",
                actor="operator:alice",
                key=key,
                now=self.harness.now,
            )
        except Conflict:
            return "conflict"
        return "done"

    async def draw(self, coupon: str) -> Deed:
        """Draw something to do; orders that wait are what several go for."""
        self.deeds += 1
        who, name = self.dice.choice(TEAMS), f"deed {self.deeds}"
        waiting = [
            (name, order)
            for name, order in self.orders.items()
            if await self.harness.status(order) == "waiting_payment"
        ][:2]
        what = self.dice.choice(["create", "redeem", "debit", "cancel", "pay"])
        if what in {"cancel", "pay"} and waiting:
            name, order = self.dice.choice(waiting)
            return what, order.organization_id, name, 0
        if what == "redeem":
            return "redeem", who, coupon, 9_000
        if what == "debit":
            return "debit", who, name, self.dice.choice([500, 9_000])
        return "create", who, name, 0

    async def stands(self) -> tuple[object, ...]:
        credits_ = [await self.harness.credit(who) for who in TEAMS]
        statuses = {
            name: str(await self.harness.status(order))
            for name, order in self.orders.items()
        }
        return credits_, statuses


def some_order(
    books: Books,
    deeds: Sequence[Deed],
    answers: Sequence[Answer],
    stands: tuple[object, ...],
) -> Books:
    """Find the deeds in an order in which the model agrees, one after the other."""
    for accounts in itertools.permutations(range(len(deeds))):
        trial = copy.deepcopy(books)
        # All of them are done, so that what is there in the end is compared as well.
        agrees = [trial.do(deeds[account]) == answers[account] for account in accounts]
        if all(agrees) and trial.stands() == stands:
            return trial
    raise AssertionError(f"{deeds} were answered {answers}, and left {stands}")


async def test_what_happens_at_once_could_have_happened_in_some_order(
    harness: OrdersHarness,
) -> None:
    print(f"seed {_SEED}")  # noqa: T201  shown when the test fails
    street = Street(harness, random.Random(_SEED))  # noqa: S311  no secret
    # Nothing runs by itself here: whatever is paid for waits for its ticket.
    books = Books(Model(now=harness.now, most_owed={}, market_away=True))
    for _ in range(ROUNDS):
        (coupon,) = await credit.issue_coupons(
            harness.database,
            sats=9_000,
            count=1,
            organization_id=None,
            expires=None,
            note="",
            actor="operator:alice",
            now=harness.now,
        )
        deeds = [await street.draw(coupon.id) for _ in range(AT_ONCE)]
        answer = await asyncio.gather(*map(street.do, deeds))
        books = some_order(books, deeds, answer, await street.stands())
