"""Buttons of a private chain: blocks and payments; other chains have none."""

import json

import pytest

from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.settings import Settings
from leyden.errors import Conflict
from leyden.values import replace
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor
from tests.channels.pages.test_channels import ordered

HOME = "/srv/harbour"


class FakeChain:
    """A private chain that remembers what it was told."""

    def __init__(self) -> None:
        self.blocks = 0
        self.paid: list[str] = []
        self.is_held = False

    async def mine(self, blocks: int) -> int:
        self.blocks += blocks
        return self.blocks

    async def pay(self, invoice: str) -> int | None:
        if not invoice:
            raise Conflict("the payment failed: no route")
        self.paid.append(invoice)
        return None if self.is_held else 5_000


@pytest.fixture
def settings() -> Settings:
    return Settings(home=HOME, testnet_rpc_certificate=f"{HOME}/devnet/btcd/rpc.cert")


@pytest.fixture
def chain() -> FakeChain:
    return FakeChain()


@pytest.fixture
def platform(selling: Platform, chain: FakeChain) -> Platform:
    return replace(selling, private_chain=chain)


async def test_an_order_is_paid_and_a_block_mined_from_its_page(
    alice: Visitor, chain: FakeChain
) -> None:
    page = await ordered(alice)
    text = (await alice.get(page)).text
    assert "Simulate payment" in text
    assert "Mine a block" in text
    paid = await alice.submit(f"{page}/simulate-payment")
    assert (paid.status, paid.location) == (303, page)
    (invoice,) = chain.paid
    assert invoice in text
    mined = await alice.submit(f"{alice.root}/private-chain/mine", {"back": page})
    assert (mined.status, mined.location, chain.blocks) == (303, page, 1)
    astray = {"back": "https://harbour.test/"}
    away = await alice.submit(f"{alice.root}/private-chain/mine", astray)
    assert away.location == alice.root


async def test_an_order_that_is_over_is_not_paid(
    alice: Visitor, chain: FakeChain
) -> None:
    page = await ordered(alice)
    await alice.submit(f"{page}/cancel")
    assert "Simulate payment" not in (await alice.get(page)).text
    assert (await alice.submit(f"{page}/simulate-payment")).status == 409
    assert not chain.paid


async def test_an_invoice_of_a_node_is_paid(alice: Visitor, chain: FakeChain) -> None:
    at = f"{alice.root}/private-chain/pay"
    paid = await alice.submit(at, {"invoice": "lnsb1coffee"})
    assert json.loads(paid.text) == {"paid_sats": 5_000}
    chain.is_held = True
    held = await alice.submit(at, {"invoice": "lnsb1coffee"})
    assert json.loads(held.text) == {"paid_sats": 0}
    failed = await alice.submit(at, {"invoice": ""})
    assert (failed.status, "no route" in failed.text) == (409, True)


async def test_who_may_only_look_pays_nothing(
    alice: Visitor, platform: Platform, chain: FakeChain
) -> None:
    page = await ordered(alice)
    of = alice.organization_id
    viewer = await person(platform, alice.site, "vera", of, Role.VIEWER)
    assert "Simulate payment" not in (await viewer.get(page)).text
    assert (await viewer.submit(f"{page}/simulate-payment")).status == 403
    pay = await viewer.submit(f"{viewer.root}/private-chain/pay", {"invoice": "x"})
    assert pay.status == 403
    assert not chain.paid


class TestAnotherChain:
    """Testnet or mainnet, where coins are worth something."""

    @pytest.fixture
    def platform(self, selling: Platform) -> Platform:
        return selling

    async def test_has_none_of_it(self, alice: Visitor) -> None:
        page = await ordered(alice)
        text = (await alice.get(page)).text
        assert "Simulate payment" not in text
        assert "Mine a block" not in text
        for path in (
            f"{page}/simulate-payment",
            f"{alice.root}/private-chain/mine",
            f"{alice.root}/private-chain/pay",
        ):
            assert (await alice.submit(path, {"invoice": "x"})).status == 404
