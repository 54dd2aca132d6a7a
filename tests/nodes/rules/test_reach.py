"""Which addresses a webhook or a remote signer may have, however they are written."""

from ipaddress import ip_network

import pytest

from leyden.base.rules.addresses import Reach
from leyden.errors import Malformed
from leyden.events.rules.webhook_urls import Allowed
from leyden.nodes.rules.node_settings import AllowedCalls, NodeSettings, change, parse
from tests.nodes.fleet_harness import SETTINGS

ANY = Allowed(schemes=frozenset({"https", "http"}), ports=range(1, 65_536))

# Of this machine, private networks, link-local ones, and services for metadata.
SPECIAL_V4 = [
    *("127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1"),  # noqa: S104
    *("169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200"),
    *("192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
]
SPECIAL_V6 = [
    *("::1", "::", "fd00:ec2::254", "fe80::1", "fec0::1", "fc00::1", "ff02::1"),
    *("::ffff:127.0.0.1", "::ffff:a00:1", "::127.0.0.1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:7f00:1::"),
    *("2001:0:7f00:1::", "0:0:0:0:0:FFFF:7F00:1", "5f00::1"),
]
# What a resolver may take for one of these.
SPELLINGS = [
    *("2130706433", "0x7f000001", "0X7F000001", "0177.0.0.1", "127.1", "0", "0x7f.1"),
    *("127.0.0.0x1", "017700000001", "10.1", "169.254.43518", "127.0.0.01"),
    *(
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "\uff11\uff12\uff17.0.0.1",
        "ⓛocalhost",
        "١٢٧.0.0.1",
    ),
    *("localhost", "LOCALHOST", "pier.localhost"),
]
PUBLIC = ["93.184.216.34", "hooks.example.org", "1.0.0.127.example.org"]
PUBLIC_V6 = ["2606:4700::1111", "64:ff9b::5db8:d822"]


def settings(**given: object) -> NodeSettings:
    return parse({**SETTINGS, **given}, webhooks=ANY)


def urls(hosts: list[str], hosts_v6: list[str]) -> list[str]:
    return [
        *(f"https://{host}:8443/hook" for host in hosts),
        *(f"https://{host}./" for host in hosts),
        *(f"http://[{host}]/" for host in hosts_v6),
    ]


@pytest.mark.parametrize("url", urls(SPECIAL_V4 + SPELLINGS, SPECIAL_V6))
def test_a_webhook_is_not_set_to_what_may_not_be_called(url: str) -> None:
    with pytest.raises(Malformed, match=r"^webhook: "):
        settings(webhook=url)


@pytest.mark.parametrize("url", urls(PUBLIC, PUBLIC_V6))
def test_a_webhook_is_set_to_what_may_be_called(url: str) -> None:
    assert settings(webhook=url).webhook == url


@pytest.mark.parametrize(
    "host",
    [
        *SPECIAL_V4,
        *(f"{host}:443" for host in SPECIAL_V4),
        *SPELLINGS,
        *SPECIAL_V6,
        *(f"[{host}]:10009" for host in SPECIAL_V6),
        "fe80::1%eth0",
    ],
)
def test_a_signer_is_not_where_nodes_may_not_call(host: str) -> None:
    with pytest.raises(Malformed, match=r"^remotesigninghost: "):
        settings(remotesigninghost=host)


@pytest.mark.parametrize(
    "host", [*PUBLIC, *PUBLIC_V6, "93.184.216.34:443", "[2606:4700::1111]:10009"]
)
def test_a_signer_is_where_nodes_may_call(host: str) -> None:
    assert settings(remotesigninghost=host).remotesigninghost == host


def test_an_installation_makes_exceptions() -> None:
    calls = AllowedCalls(
        webhook=Reach(
            exceptions=(ip_network("127.0.0.0/8"), ip_network("10.1.0.0/16")),
            forbidden=(ip_network("93.184.216.0/24"),),
        ),
        remotesigninghost=Reach(openings=((ip_network("10.2.0.1/32"), 10_009),)),
    )

    def is_kept(**given: object) -> bool:
        try:
            parse({**SETTINGS, **given}, webhooks=ANY, calls=calls)
        except Malformed:
            return False
        return True

    for url in ("127.0.0.1", "localhost", "10.1.2.3", "[::ffff:10.1.2.3]"):
        assert is_kept(webhook=f"http://{url}/"), url
    for url in ("10.2.0.1", "[::1]", "93.184.216.34", "[64:ff9b::5db8:d822]"):
        assert not is_kept(webhook=f"http://{url}/"), url
    for host in ("10.2.0.1", "10.2.0.1:10009", "[::ffff:10.2.0.1]:10009"):
        assert is_kept(remotesigninghost=host), host
    for host in ("10.2.0.1:443", "10.2.0.2", "10.1.2.3"):
        assert not is_kept(remotesigninghost=host), host


def test_what_a_node_has_stays_until_it_is_changed() -> None:
    within = Reach(exceptions=(ip_network("10.0.0.0/8"),))
    old = parse(
        {**SETTINGS, "webhook": "http://10.0.0.1/", "remotesigninghost": "10.0.0.2"},
        webhooks=ANY,
        calls=AllowedCalls(webhook=within, remotesigninghost=within),
    )
    same = {"webhook": old.webhook, "remotesigninghost": old.remotesigninghost}
    for given in ({"alias": "harbour dark"}, same):
        new = change(old, given, webhooks=ANY)
        assert (new.webhook, new.remotesigninghost) == (
            old.webhook,
            old.remotesigninghost,
        )
    for given in ({"webhook": "http://10.0.0.3/"}, {"remotesigninghost": "10.0.0.3"}):
        with pytest.raises(Malformed, match="private or reserved"):
            change(old, given, webhooks=ANY)
    assert not change(old, {"webhook": ""}, webhooks=ANY).webhook
