"""A node's webhook as people see it: set, tried out, sent again, proven anew."""

import re

from leyden.events.rules.deliveries import Answer
from tests.base.pages.visitor import Visitor
from tests.fakes.sender import FakeSender
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made

URL = "https://hooks.harbour.test/leyden"


async def with_webhook(visitor: Visitor, fleet_harness: FleetHarness) -> str:
    page = f"{await made(visitor, fleet_harness)}/webhook"
    saved = await visitor.submit(page, {"webhook": URL})
    assert saved.location == f"{page}?done=saved"
    return page


async def test_a_test_shows_what_the_receiver_answered_as_text(
    alice: Visitor, fleet_harness: FleetHarness, sender: FakeSender
) -> None:
    page = await with_webhook(alice, fleet_harness)
    sender.answers[URL] = Answer(status=500, excerpt="<script>alert(1)</script>")
    assert (await alice.submit(f"{page}/test")).location == f"{page}?done=sent"
    shown = (await alice.get(page)).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "<script>alert" not in shown
    delivery = re.search(r'name="delivery" value="(msg_\w+)"', shown)
    assert delivery is not None
    sender.answers[URL] = Answer(status=204)
    again = await alice.submit(f"{page}/redeliver", {"delivery": delivery[1]})
    assert again.status == 303
    assert len(sender.received) == 2
    assert "delivered" in (await alice.get(page)).text


async def test_a_url_that_is_none_is_refused_and_kept_to_be_mended(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = f"{await made(alice, fleet_harness)}/webhook"
    refused = await alice.submit(page, {"webhook": "ftp://harbour"})
    assert (refused.status, 'value="ftp://harbour"' in refused.text) == (400, True)
    untold = await alice.submit(f"{page}/test")
    assert (untold.status, "has no webhook" in untold.text) == (409, True)


async def test_only_who_changes_nodes_sees_where_events_go(
    alice: Visitor, bob: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await with_webhook(alice, fleet_harness)
    secret = re.search(r'id="secret">([0-9a-f]{48,})<', (await alice.get(page)).text)
    assert secret is not None
    answer = await bob.get(page)
    assert (answer.status, URL in answer.text, secret[1] in answer.text) == (
        403,
        False,
        False,
    )
    node = await bob.get(page.removesuffix("/webhook"))
    assert (node.status, "/webhook" in node.text) == (200, False)
    for path in ("", "/test", "/rotate-secret", "/redeliver"):
        assert (await bob.submit(f"{page}{path}")).status == 403
    rotated = await alice.submit(f"{page}/rotate-secret")
    assert rotated.location == f"{page}?done=rotated"
    assert secret[1] not in (await alice.get(page)).text


async def test_another_teams_webhook_is_not_there(
    alice: Visitor, charlie: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await with_webhook(alice, fleet_harness)
    mine = page.replace(alice.organization_id, charlie.organization_id)
    assert (await charlie.get(mine)).status == 404
    for path in ("", "/test", "/rotate-secret", "/redeliver"):
        sent = await charlie.submit(f"{mine}{path}", {"webhook": URL, "delivery": "x"})
        assert sent.status == 404, path
