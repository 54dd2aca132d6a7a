"""Orders of LSPS1 on the pages of the operator's organization."""

from leyden.base.rules.units import Sats
from leyden.channels.direct.lsps1.limits import Orderer
from leyden.channels.direct.lsps1.server import Lsps1
from leyden.channels.direct.rules.lsps1 import Transport
from leyden.channels.services import Lsps1Settings
from leyden.values import replace
from tests.base.pages.visitor import Visitor
from tests.channels.api.flow.conftest import World
from tests.channels.pages.test_channels import _text, ordered, until
from tests.channels.pages.test_direct_channels import KEY, pay, platform  # noqa: F401  fixture
from tests.channels.test_lsps1 import WANTED


async def placed(world: World, organization_id: str, source: Transport) -> str:
    rules = Lsps1Settings(organization=organization_id, most_reserved=Sats(10**9))
    channels = replace(world.channels, rules=replace(world.channels.rules, lsps1=rules))
    address = "203.0.113.5" if source is Transport.HTTP else ""
    who = Orderer(source=source, peer=KEY, address=address)
    order, _ = await Lsps1(channels).create(WANTED, who)
    return order.id


async def test_an_order_is_shown_with_its_source_and_node(
    alice: Visitor, world: World
) -> None:
    order_id = await placed(world, alice.organization_id, Transport.HTTP)
    page = f"{alice.root}/channels/{order_id}"
    text = await _text(alice, page)
    assert "Waiting for the buyer" in text
    for shown in ("LSPS1 over HTTP", "203.0.113.5", KEY):
        assert shown in text
    for hidden in ("On-chain", "Copy invoice", "Connect your node to the seller"):
        assert hidden not in text
    assert "LSPS1" in await _text(alice, f"{alice.root}/channels")
    world.seller.online.add(KEY)
    pay(world)
    text = await until(lambda: _text(alice, page), shows="The channel is published")
    (opened,) = world.seller.channels.values()
    assert opened.point in text


async def test_an_order_over_bolt8_has_no_address(alice: Visitor, world: World) -> None:
    order_id = await placed(world, alice.organization_id, Transport.BOLT8)
    text = await _text(alice, f"{alice.root}/channels/{order_id}")
    assert "LSPS1 over BOLT8" in text
    assert " from " not in text.partition("LSPS1 over BOLT8")[2][:40]


async def test_orders_of_customers_are_no_such_orders(
    alice: Visitor, world: World
) -> None:
    world.seller.online.add(KEY)
    await ordered(alice, **{"for": "other", "node": KEY})
    assert "LSPS1" not in await _text(alice, f"{alice.root}/channels")
