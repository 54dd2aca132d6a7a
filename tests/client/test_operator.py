"""The library's operator API: each operation, and the script of its guide."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leyden.app.endpoints import OPERATOR_OPERATIONS
from leyden.client import ApiError
from leyden.client.operator import Operator
from leyden.people import api_keys
from tests.client.served_platform import ServedPlatform
from tests.client.test_every_endpoint import reached_by
from tests.nodes.api.nodes.conftest import NEW_NODE

PAGE = Path(__file__).parents[2] / "docs" / "operators" / "operator-api.md"
PASSWORD = "a lamp in the harbour"


@pytest.fixture
def operator_key(platform: ServedPlatform) -> str:
    async def make() -> str:
        _, text = await api_keys.create_operator_key(
            platform.platform, name="billing", expires=None, actor="test"
        )
        return text

    return platform.do(make)


@pytest.fixture
def operator(platform: ServedPlatform, operator_key: str) -> Iterator[Operator]:
    with Operator(platform.url, operator_key) as operator:
        yield operator


def test_the_guides_script_onboards_bills_and_closes(
    platform: ServedPlatform,
    operator: Operator,
    operator_key: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (script,) = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE
    )
    assert len([line for line in script.splitlines() if line]) <= 30
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_OPERATOR_KEY", operator_key)
    names: dict[str, Any] = {}
    exec(script, names)  # noqa: S102  our own words
    link, closed = capsys.readouterr().out.splitlines()
    assert "/app/invitation?word=" in link
    assert closed.startswith("OrganizationAnswer(")
    of = operator.organization(names["team"])
    assert (of.credit, of.owed, of.most_owed) == (0, 0, None)
    assert all(each.revoked for each in operator.keys(of.organization_id))
    assert operator.members(of.organization_id).invitations == []
    with pytest.raises(ApiError, match="quota"):
        operator.create_key(of.organization_id, "late")


def money(operator: Operator, here: str) -> None:
    operator.set_limit(here, 100_000)
    for _ in range(2):
        assert operator.correct(here, "credit", 21_000, "gift", key="gift").credit
    assert operator.organization(here).credit == 21_000
    for _ in range(2):
        made = operator.create_coupons(2_100, count=2, organization_id=here, key="fair")
    assert [each.coupon for each in operator.coupons(at_a_time=1)] == sorted(
        each.coupon for each in made
    )


def people(operator: Operator, here: str) -> None:
    ada = operator.create_member(here, "ada@example.org", PASSWORD)
    bo = operator.create_member(here, "bo@example.org", PASSWORD, role="viewer")
    assert operator.set_role(here, bo.user_id, "admin").members[1].role == "admin"
    operator.remove_member(here, bo.user_id)
    operator.revoke_invitation(
        here, operator.invite(here, "cy@example.org").invitation_id
    )
    assert len(operator.members(here).members) == 1
    assert {ada.user_id, bo.user_id} <= {each.user_id for each in operator.users()}
    operator.sign_out(ada.user_id)
    operator.readmit(ada.user_id, f"{PASSWORD} of glass")
    assert operator.sessions(ada.user_id) == []


def test_every_operation_is_called_by_some_method(
    platform: ServedPlatform, operator: Operator
) -> None:
    platform.requests.clear()
    operator.create_organization("Far Shore")
    here = platform.organization_id
    assert here in {each.organization_id for each in operator.organizations()}
    money(operator, here)
    people(operator, here)
    made = operator.create_key(here, "pier", ["node"])
    operator.revoke_key(here, made.key_id)
    assert operator.keys(here)
    assert operator.change_quotas(here, nodes=7) == operator.quotas(here)
    with platform.client() as customer:
        order = customer.flow.create(1_000_000)
        settings = NEW_NODE["settings"]
        node = customer.nodes.create("pier light", settings=settings)
        customer.nodes.wait(node.node_id, {"waiting_init"})
        assert operator.stop(node.node_id).node_id == node.node_id
        customer.nodes.wait(node.node_id, {"stopped"})
        operator.start(node.node_id)
    assert operator.node(node.node_id).organization_id == here
    assert node.node_id in {each.node_id for each in operator.nodes()}
    assert operator.ailing() == []
    assert operator.order(order.order_id).fee == order.total_fee
    assert [each.order_id for each in operator.orders_of(here)] == [order.order_id]
    assert operator.orders() == []
    with pytest.raises(ApiError, match="still knows the ticket"):
        operator.abandon(order.order_id, "lost")
    assert operator.overview().nodes
    assert operator.alarms().alarms == []
    assert operator.backups().missing
    assert operator.audit(limit=1)[0].subject == "GET /operator/audit"
    reached = {reached_by(method, path) for method, path in platform.requests}
    assert reached >= {(each.method, each.path) for each in OPERATOR_OPERATIONS}
