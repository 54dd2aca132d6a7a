"""A node's log as its owner reads it: filtered, and as a file."""

from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made

INFO = "2026-03-01 12:00:00.000 [INF] SRVR: <b>Initializing</b>"
ERROR = "2026-03-01 12:00:01.000 [ERR] SRVR: no addresses found"


async def logged(alice: Visitor, fleet_harness: FleetHarness) -> str:
    page = await made(alice, fleet_harness)
    (node,) = await fleet_harness.fleet.database.reader.nodes.all_()
    fleet_harness.node_files.logs[node.id] = [INFO, ERROR]
    return f"{page}/log"


async def test_a_log_is_filtered_by_level_and_text(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await logged(alice, fleet_harness)
    both = (await alice.get(page)).text
    assert "Initializing" in both
    assert 'class="log-ERR"' in both
    errors = (await alice.get(f"{page}?level=error")).text
    assert "no addresses found" in errors
    assert "Initializing" not in errors
    assert 'hx-get="' + page + "?level=error" in errors, "it stays filtered"
    none = (await alice.get(f"{page}?level=error&find=%3Cscript%3E")).text
    assert "No lines match" in none
    assert "<script>" not in none.partition("<main")[2]
    assert "Initializing" in (await alice.get(f"{page}?level=any")).text


async def test_a_log_is_saved_as_a_file(
    alice: Visitor, bob: Visitor, fleet_harness: FleetHarness
) -> None:
    page = await logged(alice, fleet_harness)
    saved = await bob.get(f"{page}/download")
    assert saved.text == f"{INFO}\n{ERROR}\n"
    assert saved.header("content-type") == "text/plain; charset=utf-8"
    assert saved.header("content-disposition").startswith("attachment; filename=")
