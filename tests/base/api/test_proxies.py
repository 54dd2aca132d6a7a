"""Whose address counts behind a proxy, and that nobody can make one up."""

from typing import Any

import pytest

from leyden.app.front import Front, proxies
from leyden.base.http.proxies import Proxies
from leyden.base.settings import Settings
from leyden.errors import SetupError

PROXY, CALLER, CLAIMED = "10.0.0.1", "198.51.100.7", "203.0.113.9"
OURS = Proxies(["10.0.0.0/8", "2001:db8:1::/48"])


def caller(peer: str = PROXY, **headers: str) -> str:
    sent = [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()]
    return OURS.caller(peer, sent)


def listed(*values: str) -> str:
    headers = [(b"x-forwarded-for", each.encode()) for each in values]
    return OURS.caller(PROXY, headers)


def test_only_a_proxy_of_ours_is_believed() -> None:
    for peer in (CALLER, "10.0.0.1x", "", "11.0.0.1", "2001:db8:2::1"):
        assert caller(peer, x_forwarded_for=CLAIMED) == peer
    assert Proxies().caller(PROXY, [(b"x-forwarded-for", b"203.0.113.9")]) == PROXY
    assert not Proxies()


def test_the_rightmost_that_is_no_proxy_is_the_caller() -> None:
    assert listed(CALLER) == CALLER
    assert listed(f"{CLAIMED}, {CALLER}") == CALLER
    assert listed(f"{CLAIMED}, {CALLER}, 10.9.9.9") == CALLER
    assert listed(f"{CLAIMED},{CALLER}", "10.9.9.9, 2001:db8:1::7") == CALLER
    assert listed(CLAIMED, CALLER) == CALLER  # two headers are one list
    assert listed(f"10.1.1.1, {CLAIMED}, {CALLER}") == CALLER
    assert listed("10.9.9.9") == "10.9.9.9"  # one of ours asks for itself
    assert listed() == PROXY


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"{CALLER}:4711", CALLER),
        ("[2001:db8:2::1]:4711", "2001:db8:2::1"),
        ("2001:db8:2:0::1", "2001:db8:2::1"),
        ("::ffff:198.51.100.7", CALLER),
        # What tells nothing: the caller counts as the proxy.
        ("unknown", PROXY),
        ("_hidden", PROXY),
        ("", PROXY),
        (",", PROXY),
        ("198.51.100.7.", PROXY),
        ("0198.51.100.7", PROXY),
        ("fe80::1%eth0", PROXY),
        ("localhost", PROXY),
        ("198.51.100.0/24", PROXY),
    ],
)
def test_an_address_is_read_in_every_form_and_nothing_else_is(
    text: str, meant: str
) -> None:
    assert listed(f"{CLAIMED}, {text}") == meant


def test_what_hides_the_way_ends_it() -> None:
    assert listed(f"{CLAIMED}, unknown, 10.9.9.9") == "10.9.9.9"


def test_another_header_of_proxies_is_not_believed() -> None:
    assert caller(forwarded=f"for={CLAIMED}") == PROXY
    assert caller(forwarded=f"for={CLAIMED}", x_forwarded_for=CALLER) == CALLER


def test_the_setting_names_proxies_and_not_everybody() -> None:
    assert not proxies(Settings())
    named = proxies(Settings(api_proxies="127.0.0.1, 10.0.0.0/8"))
    assert named.caller("127.0.0.1", [(b"x-forwarded-for", b"198.51.100.7")]) == CALLER
    for wrong in ("proxy.example", "10.0.0.1/8", "0.0.0.0/0", "::/0", "10.0.0.0/33"):
        with pytest.raises(SetupError, match="api_proxies: "):
            proxies(Settings(api_proxies=wrong))


@pytest.mark.parametrize(("named", "text"), [("10.0.0.1", CALLER), ("", PROXY)])
async def test_whoever_answers_is_told_the_callers_address(
    named: str, text: str
) -> None:
    clients: list[Any] = []

    async def answering(scope: Any, _receive: Any, _send: Any) -> None:
        clients.append(scope["client"])

    front = Front(
        pages=answering,
        manual=answering,
        api=answering,
        proxies=proxies(Settings(api_proxies=named)),
    )
    headers = [(b"x-forwarded-for", b"203.0.113.9, 198.51.100.7")]
    for path in ("/app/", "/docs/api", "/flow/orders"):
        scope = {"path": path, "headers": headers, "client": (PROXY, 4711)}
        await front(scope, None, None)
    assert clients == [(text, 4711)] * 3
