"""`leyden fleet list`: by organization, status and runtime."""

from datetime import timedelta

import pytest

from leyden.nodes.rules.nodes import NodeStatus, RuntimeName
from tests.app.cli.conftest import Typed, add_nodes, printed_json
from tests.nodes.rules.nodes import NOON, a_node

OLD = a_node()
NEW = a_node(
    NodeStatus.STOPPED,
    id="1c6d4e2f-7a44-4c39-9a0e-0c1f2b7d9e55N",
    name="new",
    api_endpoint="new-1c6d4e2f.nodes.localhost",
    slot=8,
    runtime=RuntimeName.KUBERNETES,
    created=NOON + timedelta(days=1),
)
OTHER = a_node(
    id="2d7e5f30-7a44-4c39-9a0e-0c1f2b7d9e55N",
    organization_id="lighthouse",
    api_endpoint="other-2d7e5f30.nodes.localhost",
    slot=9,
)


@pytest.fixture
def fleet(typed: Typed) -> Typed:
    """Type `leyden fleet` on a platform that has no nodes."""
    assert typed("migrate").exit_code == 0
    return lambda *words: typed("fleet", *words)


def ids(typed: Typed, *words: str) -> list[str]:
    return [
        each["id"] for each in printed_json(typed("list", *words, "--json"))["nodes"]
    ]


def test_a_platform_without_nodes(fleet: Typed) -> None:
    assert fleet("list").stdout == "no nodes\n"
    assert "none yet" in fleet().stdout


def test_nodes_are_listed_newest_first_and_by_what_they_are(fleet: Typed) -> None:
    add_nodes("Harbour", OLD, NEW)
    assert ids(fleet) == [NEW.id, OLD.id]
    assert ids(fleet, "--runtime", "local") == [OLD.id]
    assert ids(fleet, "--status", "stopped") == [NEW.id]
    assert ids(fleet, "--status", "stopped", "--runtime", "local") == []
    assert ids(fleet, "--organization", "Harbour") == [NEW.id, OLD.id]
    assert NEW.id in fleet("list").stdout
    assert "stopped" in fleet("list").stdout


def test_nodes_of_another_organization_are_not_listed(fleet: Typed) -> None:
    add_nodes("Harbour", OLD)
    add_nodes("Lighthouse", OTHER)
    assert ids(fleet, "--organization", "Harbour") == [OLD.id]
    assert len(ids(fleet)) == 2


def test_more_than_are_shown_are_announced(fleet: Typed) -> None:
    add_nodes("Harbour", OLD, NEW)
    result = fleet("list", "--limit", "1", "--json")
    assert [each["id"] for each in printed_json(result)["nodes"]] == [NEW.id]
    assert result.stderr == "there are more than 1 nodes; use --limit\n"
    assert fleet("list", "--limit", "2").stderr == ""


def test_what_no_node_can_be_is_refused(fleet: Typed) -> None:
    assert fleet("list", "--status", "asleep").exit_code == 2
    assert fleet("list", "--runtime", "moon").exit_code == 2
    assert fleet("list", "--limit", "0").exit_code == 2
    result = fleet("list", "--organization", "nobody")
    assert result.exit_code == 4
    assert "nobody" in result.stderr
