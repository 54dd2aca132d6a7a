"""What an organization may have, as its keys are told."""

from leyden.base.platform import Platform
from leyden.people import quotas
from tests.base.api.conftest import Caller
from tests.conftest import NOW


def path(caller: Caller) -> str:
    return f"/organizations/{caller.organization_id}/quotas"


async def test_a_key_is_told_what_there_is_and_may_be(
    alice: Caller, bob: Caller, charlie: Caller, nobody: Caller
) -> None:
    answer = await alice.get(path(alice))
    assert answer.status == 200
    assert answer.json()["quotas"] == {
        "nodes": {"used": 0, "limit": 25},
        "unpaid_orders": {"used": 0, "limit": 5},
        "keys": {"used": 2, "limit": 20},
        "invitations": {"used": 0, "limit": 20},
        "members": {"used": 0, "limit": 100},
        "macaroons_per_node": {"used": 0, "limit": 50},
        "replaced_backups_mb": {"used": 0, "limit": 100},
        "idempotency_keys": {"used": 0, "limit": 10_000},
    }
    assert (await bob.get(path(alice))).body == answer.body
    assert (await charlie.get(path(alice))).status == 404
    assert (await nobody.get(path(alice))).status == 401


async def test_an_exception_shows_at_once(alice: Caller, platform: Platform) -> None:
    await quotas.change(
        platform.database,
        alice.organization_id,
        {quotas.parse("nodes"): 100},
        actor="operator:alice",
        now=NOW,
    )
    found = (await alice.get(path(alice))).json()["quotas"]
    assert found["nodes"] == {"used": 0, "limit": 100}
