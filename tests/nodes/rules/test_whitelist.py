"""Who may reach a node, however oddly it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed
from leyden.nodes.rules.whitelist import MAX_ENTRIES, allows, networks, parse


@pytest.mark.parametrize(
    ("given_", "canonical"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("198.51.100.7/32", "198.51.100.7"),
        ("198.51.100.0/24", "198.51.100.0/24"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("2001:db8::1/128", "2001:db8::1"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("::/0", "::/0"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("::ffff:c633:6407", "198.51.100.7"),
        ("::ffff:198.51.100.0/120", "198.51.100.0/24"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        # The longest that there is.
        ("0000:0000:0000:0000:0000:ffff:198.151.100.107/128", "198.151.100.107"),
    ],
)
def test_an_entry_is_kept_in_one_form(given_: str, canonical: str) -> None:
    assert parse([given_]) == (canonical,)
    assert parse([canonical]) == (canonical,)


@pytest.mark.parametrize(
    "entry",
    [
        True,
        False,
        1,
        3325256711,
        3.5,
        None,
        [],
        ["198.51.100.7"],
        {},
        b"198.51.100.7",
        "",
        " ",
        "harbour.example.org",
        "localhost",
        "198.51.100",
        "198.51.100.7.8",
        "198.51.100.256",
        "198.51.100.07",
        "0xc6.51.100.7",
        "\uff13.51.100.7",
        "198.51.100.7 ",
        " 198.51.100.7",
        "198.51.100.7\n",
        "198.51.100.7:8080",
        "[2001:db8::1]",
        "fe80::1%eth0",
        "fe80::1%\nrestcors=*",
        "2001:db8::1%25",
        "198.51.100.0/",
        "198.51.100.0/33",
        "198.51.100.0/024",
        "198.51.100.0/-1",
        "198.51.100.0/255.255.255.0",
        "198.51.100.0/0.0.0.255",
        "198.51.100.0/24/24",
        "2001:db8::/129",
        "198.51.100.1-198.51.100.9",
        "198.51.100.*",
        "0.0.0.0/0,::/0",
        "1" * 10_000,
    ],
)
def test_what_is_no_network_is_refused_by_its_place(entry: object) -> None:
    with pytest.raises(Malformed) as caught:
        parse(["198.51.100.7", entry])
    assert caught.value.message.startswith("whitelist[1]: must be ")


@pytest.mark.parametrize(
    "entry", ["10.0.0.7/8", "198.51.100.7/24", "2001:db8::1/32", "::ffff:10.0.0.7/104"]
)
def test_host_bits_are_a_slip_and_no_block(entry: str) -> None:
    with pytest.raises(Malformed, match=r"whitelist\[0\]: has host bits set"):
        parse([entry])


@pytest.mark.parametrize(
    "given_", [None, "0.0.0.0/0", 7, True, {"0.0.0.0/0": 1}, set()]
)
def test_a_whitelist_is_a_list(given_: object) -> None:
    with pytest.raises(Malformed, match="whitelist: must be a list"):
        parse(given_)


def test_empty_means_nobody() -> None:
    assert parse([]) == ()
    assert networks(parse([])) == ()


def test_the_order_stays_and_each_network_is_named_once() -> None:
    assert parse(["::1", "198.51.100.7", "::ffff:198.51.100.7", "0:0::1/128"]) == (
        "::1",
        "198.51.100.7",
    )


def test_five_hundred_is_enough() -> None:
    many = [f"10.{i // 250}.{i % 250}.1" for i in range(MAX_ENTRIES)]
    assert len(parse(many)) == MAX_ENTRIES
    with pytest.raises(Malformed, match="whitelist: at most 500 entries"):
        parse([*many, "::1"])


def test_a_hundred_thousand_are_refused_without_being_read() -> None:
    with pytest.raises(Malformed, match="at most 500"):
        parse([object()] * 100_000)


@given(st.lists(st.ip_addresses().map(str), max_size=20))
def test_what_was_parsed_parses_to_itself(addresses: list[str]) -> None:
    canonical = parse(addresses)
    assert parse(list(canonical)) == canonical
    assert [str(n.network_address) for n in networks(canonical)] == list(canonical)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused(entry: str) -> None:
    try:
        (canonical,) = parse([entry])
    except Malformed:
        return
    assert canonical.isascii()
    assert parse([canonical]) == (canonical,)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("198.51.100.7", True),
        ("::ffff:198.51.100.7", True),  # as a socket for both kinds shows it
        ("198.51.100.8", False),
        ("::ffff:198.51.100.8", False),
        ("203.0.113.255", True),
        ("203.0.114.0", False),
        ("2001:db8::5", True),
        ("2001:db9::5", False),
        ("", False),
        ("somewhere", False),
    ],
)
def test_an_address_is_allowed_if_an_entry_holds_it(
    address: str,
    allowed: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    listed = parse(["198.51.100.7", "203.0.113.0/24", "2001:db8::/32"])
    assert allows(listed, address) is allowed


def test_an_empty_list_allows_nobody() -> None:
    assert not allows((), "127.0.0.1")
