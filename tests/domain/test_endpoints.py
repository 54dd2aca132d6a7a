"""Which URLs are taken for a webhook, by their text alone."""

import pytest

from leyden.domain.endpoints import Endpoint, parse
from leyden.domain.webhook_urls import Allowed
from leyden.errors import Malformed

USUAL = Allowed()
ANYTHING = Allowed(schemes=frozenset({"https", "http"}), ports=range(1, 65_536))


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        (
            "https://hooks.example.org/leyden?boat=1",
            Endpoint(
                tls=True,
                host="hooks.example.org",
                port=443,
                target="/leyden?boat=1",
                is_name=True,
            ),
        ),
        (
            "https://Hooks.Example.ORG.:8443",
            Endpoint(
                tls=True, host="hooks.example.org", port=8443, target="/", is_name=True
            ),
        ),
        (
            "https://203.0.113.9:8000/%C3%BC",
            Endpoint(
                tls=True, host="203.0.113.9", port=8000, target="/%C3%BC", is_name=False
            ),
        ),
        (
            "https://[2001:DB8::0:1]/",
            Endpoint(tls=True, host="2001:db8::1", port=443, target="/", is_name=False),
        ),
        (
            "https://xn--bcher-kva.example/a@b:c",
            Endpoint(
                tls=True,
                host="xn--bcher-kva.example",
                port=443,
                target="/a@b:c",
                is_name=True,
            ),
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


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.org",
        "http://hooks.example.org",
        "ftp://hooks.example.org",
        "file:///etc/passwd",
        "gopher://hooks.example.org:8000/",
        "https:hooks.example.org",
        "https:/hooks.example.org",
        "https:////hooks.example.org",
        "https://",
        "https://:8443",
        "https://user:pass@hooks.example.org",
        "https://user@hooks.example.org",
        "https://@hooks.example.org",
        "https://hooks.example.org#top",
        "https://hooks.example.org\\@evil.example",
        "https://hooks.example.org/\r\nHost: evil",
        "https://hooks.example.org/a b",
        "https://hooks.example.org/\x00",
        "https://hööks.example.org",
        "https://①②⑦.⓪.⓪.①/",
        "https://ⓛocalhost/",
        "https://hooks.example.org/" + "a" * 1024,
        "https://hooks.example.org:22",
        "https://hooks.example.org:80",
        "https://hooks.example.org:0",
        "https://hooks.example.org:",
        "https://hooks.example.org:65536",
        "https://hooks.example.org:x",
        "https://hooks.example.org:-1",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://0/",
        "https://1.2.3.4.5/",
        "https://[::1%25eth0]/",
        "https://[::1%25eth0]:8443/",
        "https://[fe80::1%eth0]/",
        "https://[::1]evil/",
        "https://[::zz]/",
        "https://[v1.x]/",
        "https://[::1/",
        "https://hooks..example.org/",
        "https://-hooks.example.org/",
        "https://hooks%2eexample.org/",
        "https://" + "a" * 64 + ".example/",
        "https://" + "a." * 127 + "a/",
    ],
)
def test_a_url_that_hides_something_is_refused(url: str) -> None:
    with pytest.raises(Malformed) as refusal:
        parse(url, USUAL)
    assert refusal.value.message.startswith("webhook: ")
    assert "evil" not in refusal.value.message


def test_http_and_ports_are_settings() -> None:
    assert not parse("http://hooks.example.org:31337/", ANYTHING).tls
    assert parse("http://hooks.example.org/", ANYTHING).port == 80
