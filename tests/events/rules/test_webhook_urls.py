"""Which text may be the address of a webhook."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed
from leyden.events.rules.webhook_urls import Allowed, check

BOTH = Allowed(schemes=frozenset({"http", "https"}), ports=frozenset({80, 443, 8443}))


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org",
        "https://hooks.example.org/",
        "https://hooks.example.org:8443/leyden?boat=1&x=%0A",
        "HTTPS://Hooks.Example.ORG./",
        "https://198.51.100.7/",
        "https://[2001:db8::1]:8443/",
        "https://xn--bcher-kva.example/a@b",
        "https://hooks.example.org/" + "a" * (1_024 - 26),
    ],
)
def test_a_good_url_is_given_back_as_it_is(url: str) -> None:
    assert check(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://hooks.example.org/" + "a" * (1_025 - 26), "at most 1024 characters"),
        ("http://hooks.example.org", "must begin with https://"),
        ("hooks.example.org", "must begin with"),
        ("//hooks.example.org", "must begin with"),
        ("https:hooks.example.org", "must begin with"),
        ("https:/hooks.example.org", "must begin with"),
        ("javascript:alert(1)", "must begin with"),
        ("file:///etc/passwd", "must begin with"),
        ("gopher://hooks.example.org:8000/", "must begin with"),
        ("", "must begin with"),
        ("https:////hooks.example.org", "must name a host"),
        ("https://", "must name a host"),
        ("https:///path", "must name a host"),
        ("https://:443", "must name a host"),
        ("https://hooks.example.org:", "must name a host"),
        ("https://ho%6fks.example.org", "must name a host"),
        ("https://-hooks.example.org", "must name a host"),
        ("https://hooks..org", "must name a host"),
        ("https://2130706433/", "must name a host"),
        ("https://0x7f000001/", "must name a host"),
        ("https://0x7f.1/", "must name a host"),
        ("https://127.1/", "must name a host"),
        ("https://0/", "must name a host"),
        ("https://1.2.3.4.5/", "must name a host"),
        ("https://" + "a" * 64 + ".example/", "must name a host"),
        ("https://" + "a." * 127 + "a/", "must name a host"),
        ("https://0177.0.0.1/", "must name a host"),
        ("https://[fe80::1%25eth0]/", "must name a host"),
        ("https://[v1.x]/", "must"),
        ("https://[::1/", "must be a URL"),
        ("https://[::1]evil/", "must"),
        ("https://[::zz]/", "must"),
        ("https://hooks.example.org:x/", "must be a URL"),
        ("https://hooks.example.org:0/", "this port is not allowed"),
        ("https://hooks.example.org:22/", "this port is not allowed"),
        ("https://hooks.example.org:65536/", "must be a URL"),
        ("https://alice@hooks.example.org", "user name or password"),
        ("https://alice:pw@hooks.example.org", "user name or password"),
        ("https://@hooks.example.org", "user name or password"),
        ("https://hooks.example.org/#top", "fragment"),
        ("https://hooks.example.org/#", "fragment"),
        ("https://hooks.example.org/ a", "not allowed in a URL"),
        ("https://hooks.example.org/\r\nX: y", "not allowed in a URL"),
        ("https://hooks.example.org\t", "not allowed in a URL"),
        ("\nhttps://hooks.example.org", "not allowed in a URL"),
        ("https://hooks.example.org\\@evil.example", "not allowed in a URL"),
        ("https://①②⑦.⓪.⓪.①/", "not allowed in a URL"),
        ("https://höks.example.org/", "not allowed in a URL"),
    ],
)
def test_a_bad_url_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        check(url)
    assert caught.value.message.startswith("webhook: ")
    assert reason in caught.value.message


def test_http_and_other_ports_by_the_rules_of_the_installation() -> None:
    assert check("http://hooks.example.org", BOTH)
    assert check("https://hooks.example.org:80", BOTH)
    with pytest.raises(Malformed, match="must begin with https:// or http://"):
        check("ftp://hooks.example.org", BOTH)
    with pytest.raises(Malformed, match="port"):
        check("http://hooks.example.org:8000", BOTH)


@given(st.text() | st.text().map("https://{}".format))
def test_any_text_is_taken_or_refused(url: str) -> None:
    with suppress(Malformed):
        assert check(url, BOTH) == url
