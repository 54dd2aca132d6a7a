"""What whoever runs the installation sees and does, and nobody else."""

import re
import uuid

import pytest

from leyden.base.platform import Platform
from leyden.people import accounts
from tests.base.pages.visitor import Visitor

ROOMS = (
    "",
    "/nodes",
    "/money",
    "/orders",
    "/organizations",
    "/coupons",
    "/keys",
    "/audit",
    "/events",
)


@pytest.fixture
async def opal(alice: Visitor, platform: Platform) -> Visitor:
    """Alice, who runs the installation as well."""
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )
    await alice.get("/app/operator")
    return alice


async def test_these_pages_are_there_for_operators_alone(
    opal: Visitor, charlie: Visitor, nobody: Visitor
) -> None:
    nowhere = await charlie.get("/app/operator/no-such-page")
    for room in ROOMS:
        assert (await opal.get(f"/app/operator{room}")).status == 200, room
        answer = await charlie.get(f"/app/operator{room}")
        assert (answer.status, answer.text) == (404, nowhere.text)
        assert (await nobody.get(f"/app/operator{room}")).status == 303
    assert "This installation" not in (await charlie.get("/app/account")).text
    for path in ("prove", "organizations", "coupons"):
        sent = await charlie.submit(f"/app/operator/{path}", {"name": "Mine"})
        assert sent.status == 404


async def test_an_organization_is_made_and_its_money_set_right_once(
    opal: Visitor, platform: Platform
) -> None:
    made = await opal.submit("/app/operator/organizations", {"name": "Third Shore"})
    page = made.location
    form = await opal.get(page)
    once = re.search(r'name="once" value="([^"]+)"', form.text)
    assert once is not None
    gift = {"correction": "credit", "sats": "21,000", "reason": "a gift"}
    for _ in range(2):
        sent = await opal.submit(f"{page}/correct", {**gift, "once": once[1]})
        assert sent.status in {303, 409}
    assert "21,000 sat" in (await opal.get(page)).text
    for changes in ({"sats": "0"}, {"sats": "x"}, {"correction": "steal"}):
        sent = await opal.submit(
            f"{page}/correct", {**gift, "once": once[1], **changes}
        )
        assert (sent.status, 'role="alert"' in sent.text) == (400, True), changes
    assert (await opal.submit(f"{page}/limit", {"most_owed": "5000"})).status == 303
    assert "5,000 sat" in (await opal.get(page)).text
    lines = await platform.database.reader.audit.latest()
    assert all(line.actor.startswith(("user:", "test")) for line in lines)
    shown = (await opal.get("/app/operator/audit")).text
    assert ">alice@example.org</td>" in shown


async def test_coupons_are_issued_and_their_note_is_text(
    opal: Visitor, platform: Platform
) -> None:
    sent = await opal.submit(
        "/app/operator/coupons",
        {"sats": "1000", "count": "2", "note": "<script>alert(1)</script>"},
    )
    assert sent.status == 303
    listed = (await opal.get("/app/operator/coupons")).text
    assert listed.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    assert "<script>alert" not in listed
    (first, _) = await platform.database.reader.coupons.all_()
    form = {"coupon": first.id, "once": str(uuid.uuid4())}
    done = await opal.submit(f"{opal.root}/credit", form)
    assert done.status == 303
    # The note is the operators' own.
    assert "alert(1)" not in (await opal.get(f"{opal.root}/credit")).text


async def test_an_operator_who_is_none_any_more_sees_nothing(
    opal: Visitor, platform: Platform
) -> None:
    await accounts.set_operator(
        platform, "alice@example.org", operator=False, actor="test"
    )
    assert (await opal.get("/app/operator")).status == 404


async def test_the_books_are_checked(opal: Visitor) -> None:
    shown = await opal.submit("/app/operator/prove")
    assert "The ledger is correct" in shown.text


async def test_an_organization_may_be_given_more(
    opal: Visitor, charlie: Visitor
) -> None:
    page = f"/app/operator/organizations/{opal.organization_id}"
    usage = f"{opal.root}/usage"
    assert ">25</td>" in (await opal.get(usage)).text
    sent = await opal.submit(f"{page}/quotas", {"nodes": "1,000", "keys": ""})
    assert (sent.status, sent.location) == (303, page)
    assert (
        'name="nodes" type="text" inputmode="numeric" maxlength="13" value="1000"'
        in (await opal.get(page)).text
    )
    shown = (await opal.get(usage)).text
    assert (">1,000</td>" in shown, ">25</td>" in shown) == (True, False)
    wrong = await opal.submit(f"{page}/quotas", {"nodes": "many"})
    assert (wrong.status, "nodes: must be a whole number" in wrong.text) == (400, True)
    assert ">1,000</td>" in (await opal.get(usage)).text
    await opal.submit(f"{page}/quotas", {})
    assert ">25</td>" in (await opal.get(usage)).text
    assert (await charlie.submit(f"{page}/quotas", {"nodes": "7"})).status == 404
    assert (await charlie.get(usage)).status == 404


async def test_a_quota_that_is_reached_says_what_to_do(opal: Visitor) -> None:
    page = f"/app/operator/organizations/{opal.organization_id}"
    await opal.submit(f"{page}/quotas", {"members": "1"})
    shown = (await opal.get(f"{opal.root}/usage")).text
    assert "Remove a member, or ask the operator." in shown


async def test_jobs_are_named_in_words(opal: Visitor, platform: Platform) -> None:
    async with platform.database.transaction() as tx:
        await tx.tasks.put("forget answers", "all", due=platform.clock())
    page = (await opal.get("/app/operator")).text
    assert "Deletion of old idempotency keys" in page
    assert "forget answers" not in page
