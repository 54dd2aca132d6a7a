import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.nodes.rules import onions
from leyden.nodes.rules.onions import Onion, OnionPlan, expanded, host_of, is_host, plan

SEED = bytes(range(32))
# As tor 0.4.9.11 answered to ADD_ONION with `expanded(SEED)`.
HOST = "aoqqpp7tzyil4hlq3umoos6atft6jvrqtosq2xy53sdgiesvgg4bqead.onion"
HOSTS = st.sampled_from([host_of(bytes([number]) * 32) for number in range(4)])
PLACES = st.sampled_from(["127.0.0.1:21000", "127.0.0.1:21001"])


def test_the_host_is_the_one_that_tor_finds() -> None:
    assert host_of(SEED) == HOST
    assert is_host(HOST)


def test_the_host_carries_its_own_checksum() -> None:
    packed = base64.b32decode(HOST.removesuffix(".onion").upper())
    public, checksum, version = packed[:32], packed[32:34], packed[34:]
    assert version == b"\x03"
    said = hashlib.sha3_256(b".onion checksum" + public + version).digest()
    assert checksum == said[:2]


def test_the_key_that_tor_gets_is_clamped() -> None:
    key = expanded(SEED)
    assert len(key) == 64
    assert key[0] & 7 == 0
    assert key[31] & 0xC0 == 0x40


def test_a_service_does_not_show_its_key() -> None:
    onion = Onion(seed=SEED, to="127.0.0.1:21000")
    assert SEED.hex() not in repr(onion)
    assert repr(SEED) not in repr(onion)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pier.example",
        "expyuzz4wqqyqhjn.onion",  # version 2
        HOST.upper(),
        HOST + ".",
        HOST.removesuffix(".onion"),
        "a" + HOST,
        f"x.{HOST}",
    ],
)
def test_other_hosts_are_none(text: str) -> None:
    assert not is_host(text)


@given(
    wanted=st.dictionaries(HOSTS, PLACES),
    known=st.dictionaries(HOSTS, PLACES),
    present=st.dictionaries(HOSTS, PLACES),
    others=st.sets(HOSTS),
)
def test_after_the_plan_tor_has_what_is_wanted_and_leads_there(
    wanted: dict[str, str],
    known: dict[str, str],
    present: dict[str, str],
    others: set[str],
) -> None:
    """Whatever Tor has, if what was stored is true, or nothing was."""
    others -= wanted.keys()
    known = {host: to for host, to in known.items() if present.get(host, to) == to}
    found = plan(wanted, known=known, present=present, ours=present.keys() - others)
    after = dict(present)
    for host in found.remove:
        del after[host]
    for host in found.add:
        assert host not in after, "Tor would refuse it"
        after[host] = wanted[host]
    stored = {host: present[host] for host in others if host in present}
    assert after == {**wanted, **stored}
    again = plan(wanted, known=wanted, present=after, ours=after.keys() - others)
    assert again == OnionPlan()


def test_what_leads_where_it_should_is_left_alone() -> None:
    wanted = {HOST: "127.0.0.1:21000"}
    assert plan(wanted, known=wanted, present=[HOST], ours=[HOST]) == OnionPlan()
    assert onions.PORT == 9735
