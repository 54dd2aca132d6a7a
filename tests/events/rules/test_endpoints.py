"""Which URLs are taken for a webhook, by their text alone."""

import pytest

from leyden.events.rules.webhook_urls import Allowed, Endpoint, parse

USUAL = Allowed()
ANYTHING = Allowed(schemes=frozenset({"https", "http"}), ports=range(1, 65_536))


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        (
            "https://hooks.example.org/leyden?boat=1",
            Endpoint(
                tls=True, host="hooks.example.org", port=443, target="/leyden?boat=1"
            ),
        ),
        (
            "https://Hooks.Example.ORG.:8443",
            Endpoint(tls=True, host="hooks.example.org", port=8443, target="/"),
        ),
        (
            "https://203.0.113.9:8000/%C3%BC",
            Endpoint(tls=True, host="203.0.113.9", port=8000, target="/%C3%BC"),
        ),
        (
            "https://[2001:DB8::0:1]/",
            Endpoint(tls=True, host="2001:db8::1", port=443, target="/"),
        ),
        (
            "https://xn--bcher-kva.example/a@b:c",
            Endpoint(tls=True, host="xn--bcher-kva.example", port=443, target="/a@b:c"),
        ),
    ],
)
def test_a_url_is_taken_apart(url: str, endpoint: Endpoint) -> None:
    assert parse(url, USUAL) == endpoint


def test_the_host_header_names_unusual_ports_and_brackets_addresses() -> None:
    assert parse("https://hooks.example.org", USUAL).host_header == "hooks.example.org"
    assert (
        parse("https://[2001:db8::1]:8443", USUAL).host_header == "[2001:db8::1]:8443"
    )
    http = parse("http://hooks.example.org:443", ANYTHING)
    assert http.host_header == "hooks.example.org:443"


def test_http_and_ports_are_settings() -> None:
    assert not parse("http://hooks.example.org:31337/", ANYTHING).tls
    assert parse("http://hooks.example.org/", ANYTHING).port == 80
