"""What a node needs next, and the tabs that can be used, by its state."""

import pytest

from leyden.nodes.pages import node_tabs
from leyden.nodes.pages.next_steps import IN_LISTS, next_step
from leyden.nodes.rules.nodes import Cause, DesiredState, NodeStatus, Trouble
from tests.nodes.rules.nodes import a_node, some_settings

OPEN = some_settings(rest=True, whitelist=("198.51.100.7",))


@pytest.mark.parametrize(
    ("status", "label"),
    [
        (NodeStatus.WAITING_INIT, "Create wallet"),
        (NodeStatus.WAITING_UNLOCK, "Unlock wallet"),
        (NodeStatus.STOPPED, "Start now"),
        (NodeStatus.FAILED, "Start now"),
    ],
)
def test_a_node_that_needs_its_owner_has_one_next_step(
    status: NodeStatus, label: str
) -> None:
    step = next_step(a_node(status, settings=OPEN))
    assert step is not None
    assert step.label == label


@pytest.mark.parametrize(
    "status", sorted({*NodeStatus} - {*IN_LISTS, NodeStatus.STOPPED})
)
def test_a_node_that_needs_nobody_has_none(status: NodeStatus) -> None:
    assert next_step(a_node(status, settings=OPEN)) is None


def test_a_wallet_is_not_asked_for_where_nobody_could_make_it() -> None:
    waiting = NodeStatus.WAITING_INIT
    closed = next_step(a_node(waiting, settings=some_settings(whitelist=())))
    assert closed is not None
    assert closed.to == "/whitelist"
    deaf = some_settings(rest=False, whitelist=("198.51.100.7",))
    silent = next_step(a_node(waiting, settings=deaf))
    assert silent is not None
    assert silent.to == "/settings"


def test_a_node_that_was_stopped_is_told_from_one_that_ended() -> None:
    stopped = a_node(NodeStatus.STOPPED, wanted=DesiredState.STOPPED)
    step = next_step(stopped)
    assert step is not None
    assert (step.title, step.label) == ("This node is stopped.", "Start node")
    ended = next_step(a_node(NodeStatus.STOPPED))
    assert ended is not None
    assert ended.title == "lnd stopped unexpectedly."


def test_why_it_failed_is_said_with_it() -> None:
    full = Trouble(cause=Cause.NOT_STARTED, reason="The disk is full.", why="/srv")
    step = next_step(a_node(NodeStatus.FAILED, trouble=full))
    assert step is not None
    assert step.text.startswith("The disk is full. The platform tries again")


@pytest.mark.parametrize(
    ("status", "usable"),
    [
        (NodeStatus.PROVISIONING, ["vault"]),
        (NodeStatus.WAITING_INIT, ["initialise", "restore", "vault"]),
        (NodeStatus.WAITING_UNLOCK, ["unlock", "password", "vault"]),
        (
            NodeStatus.RUNNING,
            ["receive", "send", "payments", "channels", "bakery", "vault"],
        ),
        (NodeStatus.STOPPED, ["vault"]),
    ],
)
def test_the_wallets_pages_are_those_that_can_be_used(
    status: NodeStatus, usable: list[str]
) -> None:
    existing = a_node(status, settings=OPEN, has_wallet=True)
    assert list(node_tabs.of_wallet(existing)) == usable
    without = a_node(status, settings=OPEN)
    assert list(node_tabs.of_wallet(without)) == [x for x in usable if x != "vault"]


def test_without_rest_the_wallet_is_out_of_the_browsers_reach() -> None:
    deaf = some_settings(rest=False)
    node = a_node(NodeStatus.RUNNING, settings=deaf, has_wallet=True)
    assert list(node_tabs.of_wallet(node)) == ["vault"]


def tabs(
    status: NodeStatus,
    *,
    has_wallet: bool = False,
    here: str = "",
    may_change: bool = True,
) -> set[str]:
    node = a_node(status, settings=OPEN, has_wallet=has_wallet)
    return {to for _, to in node_tabs.of_node(node, may_change=may_change, here=here)}


def test_tabs_that_cannot_be_used_are_not_shown() -> None:
    always = {"", "/settings", "/whitelist", "/webhook"}
    assert tabs(NodeStatus.PROVISIONING) == always
    assert tabs(NodeStatus.WAITING_INIT) == always | {"/wallet", "/machine", "/log"}
    assert tabs(NodeStatus.RUNNING, has_wallet=True) == always | {
        "/wallet",
        "/backups",
        "/machine",
        "/log",
    }


def test_the_open_tab_is_shown_whatever_the_state() -> None:
    assert "/backups" in tabs(NodeStatus.WAITING_INIT, here="/backups")
    node = a_node(NodeStatus.STOPPED, settings=OPEN)
    assert "unlock" in node_tabs.of_wallet(node, here="unlock")


def test_who_only_looks_has_no_tab_for_changes() -> None:
    looks = tabs(NodeStatus.RUNNING, has_wallet=True, may_change=False)
    assert looks == {"", "/settings", "/whitelist", "/backups", "/machine", "/log"}


@pytest.mark.parametrize(
    ("url", "tab"),
    [("/n", ""), ("/n?done=saved", ""), ("/n/log", "/log"), ("/n/wallet/x", "/wallet")],
)
def test_a_page_is_under_the_tab_of_its_address(url: str, tab: str) -> None:
    assert node_tabs.of_url(url, "/n") == tab
