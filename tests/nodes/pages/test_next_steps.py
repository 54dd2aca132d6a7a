"""What a node needs next, and the tabs that can be used, by its state."""

import pytest

from leyden.nodes.pages import node_tabs
from leyden.nodes.pages.next_steps import IN_LISTS, next_step
from leyden.nodes.rules.nodes import Cause, DesiredState, Status, Trouble
from tests.nodes.rules.nodes import a_node, some_settings

OPEN = some_settings(rest=True, whitelist=("198.51.100.7",))


@pytest.mark.parametrize(
    ("status", "label"),
    [
        (Status.WAITING_INIT, "Create wallet"),
        (Status.WAITING_UNLOCK, "Unlock wallet"),
        (Status.STOPPED, "Start now"),
        (Status.FAILED, "Start now"),
    ],
)
def test_a_node_that_needs_its_owner_has_one_next_step(
    status: Status, label: str
) -> None:
    step = next_step(a_node(status, settings=OPEN))
    assert step is not None
    assert step.label == label


@pytest.mark.parametrize("status", sorted({*Status} - {*IN_LISTS, Status.STOPPED}))
def test_a_node_that_needs_nobody_has_none(status: Status) -> None:
    assert next_step(a_node(status, settings=OPEN)) is None


def test_a_wallet_is_not_asked_for_where_nobody_could_make_it() -> None:
    waiting = Status.WAITING_INIT
    closed = next_step(a_node(waiting, settings=some_settings(whitelist=())))
    assert closed is not None
    assert closed.to == "/whitelist"
    deaf = some_settings(rest=False, whitelist=("198.51.100.7",))
    silent = next_step(a_node(waiting, settings=deaf))
    assert silent is not None
    assert silent.to == "/settings"


def test_a_node_that_was_stopped_is_told_from_one_that_ended() -> None:
    stopped = a_node(Status.STOPPED, wanted=DesiredState.STOPPED)
    step = next_step(stopped)
    assert step is not None
    assert (step.title, step.label) == ("This node is stopped.", "Start node")
    ended = next_step(a_node(Status.STOPPED))
    assert ended is not None
    assert ended.title == "lnd stopped unexpectedly."


def test_why_it_failed_is_said_with_it() -> None:
    full = Trouble(cause=Cause.NOT_STARTED, reason="The disk is full.", why="/srv")
    step = next_step(a_node(Status.FAILED, trouble=full))
    assert step is not None
    assert step.text.startswith("The disk is full. The platform tries again")


@pytest.mark.parametrize(
    ("status", "usable"),
    [
        (Status.PROVISIONING, ["vault"]),
        (Status.WAITING_INIT, ["initialise", "restore", "vault"]),
        (Status.WAITING_UNLOCK, ["unlock", "password", "vault"]),
        (Status.RUNNING, ["bakery", "vault"]),
        (Status.STOPPED, ["vault"]),
    ],
)
def test_the_wallets_pages_are_those_that_can_be_used(
    status: Status, usable: list[str]
) -> None:
    there = a_node(status, settings=OPEN, has_wallet=True)
    assert list(node_tabs.of_wallet(there)) == usable
    without = a_node(status, settings=OPEN)
    assert list(node_tabs.of_wallet(without)) == [x for x in usable if x != "vault"]


def test_without_rest_the_wallet_is_out_of_the_browsers_reach() -> None:
    deaf = some_settings(rest=False)
    node = a_node(Status.RUNNING, settings=deaf, has_wallet=True)
    assert list(node_tabs.of_wallet(node)) == ["vault"]


def tabs(
    status: Status, *, has_wallet: bool = False, here: str = "", may_change: bool = True
) -> set[str]:
    node = a_node(status, settings=OPEN, has_wallet=has_wallet)
    return {to for _, to in node_tabs.of_node(node, may_change=may_change, here=here)}


def test_tabs_that_cannot_be_used_are_not_shown() -> None:
    always = {"", "/settings", "/whitelist", "/webhook"}
    assert tabs(Status.PROVISIONING) == always
    assert tabs(Status.WAITING_INIT) == always | {"/wallet", "/log"}
    assert tabs(Status.RUNNING, has_wallet=True) == always | {
        "/wallet",
        "/backups",
        "/log",
    }


def test_the_open_tab_is_shown_whatever_the_state() -> None:
    assert "/backups" in tabs(Status.WAITING_INIT, here="/backups")
    node = a_node(Status.STOPPED, settings=OPEN)
    assert "unlock" in node_tabs.of_wallet(node, here="unlock")


def test_who_only_looks_has_no_tab_for_changes() -> None:
    looks = tabs(Status.RUNNING, has_wallet=True, may_change=False)
    assert looks == {"", "/settings", "/whitelist", "/backups", "/log"}


@pytest.mark.parametrize(
    ("url", "tab"),
    [("/n", ""), ("/n?done=saved", ""), ("/n/log", "/log"), ("/n/wallet/x", "/wallet")],
)
def test_a_page_is_under_the_tab_of_its_address(url: str, tab: str) -> None:
    assert node_tabs.of_url(url, "/n") == tab
