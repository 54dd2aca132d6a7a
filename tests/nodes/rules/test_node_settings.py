"""What a node may be set to: the contract's names, and every way to get one wrong."""

import base64
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed
from leyden.events.rules.webhook_urls import Allowed
from leyden.nodes.rules.node_settings import (
    LIVE,
    NAMES,
    AllowedCalls,
    change,
    needs_restart,
    parse,
    secrets_of,
    show,
    with_secrets,
    without_secrets,
)
from leyden.schemas.node_settings import MASK, TABLE
from leyden.schemas.settings import SettingKind
from leyden.values import asdict, replace

# The contract's table, letter for letter, in its order.
CONTRACT = [
    "autopilot",
    "grpc",
    "rest",
    "keysend",
    "whitelist",
    "alias",
    "color",
    "wumbo",
    "webhook",
    "minchansize",
    "maxchansize",
    "autocompaction",
    "defaultfeerate",
    "basefee",
    "amp",
    "wtclient",
    "maxpendingchannels",
    "allowcircularroute",
    "numgraphsyncpeers",
    "gccanceledinvoicesonstartup",
    "gccanceledinvoicesonthefly",
    "torskipproxyforclearnettargets",
    "rpcmiddleware",
    "optionscidalias",
    "zeroconf",
    "remotesigning",
    "remotesigninghost",
    "remotesigningmacaroon",
    "remotesigningcert",
]
OURS = ["listen"]  # beyond it
REQUIRED = ["autopilot", "grpc", "rest", "keysend", "whitelist", "alias", "color"]
BOOLEANS = [name for name, each in TABLE.items() if each.kind is SettingKind.SWITCH]
TEXTS = [name for name in CONTRACT if name not in {*BOOLEANS, "whitelist"}]
NUMBERS = [
    "minchansize",
    "maxchansize",
    "defaultfeerate",
    "basefee",
    "maxpendingchannels",
    "numgraphsyncpeers",
]
PEM = (
    "-----BEGIN CERTIFICATE-----\n"
    + base64.b64encode(b"\x30\x82" + bytes(62)).decode()
    + "\n-----END CERTIFICATE-----\n"
)
MACAROON = "0201036c6e6402" + "ab" * 40
SIGNER = {
    "remotesigning": True,
    "remotesigninghost": "signer.example.org",
    "remotesigningmacaroon": MACAROON,
    "remotesigningcert": PEM,
}


def harbour_light(**more: object) -> dict[str, object]:
    return {
        "autopilot": False,
        "grpc": True,
        "rest": True,
        "keysend": True,
        "whitelist": ["198.51.100.7"],
        "alias": "harbour light",
        "color": "#3399FF",
        **more,
    }


def refused(given: object) -> str:
    with pytest.raises(Malformed) as caught:
        parse(given)
    return caught.value.message


def test_the_names_are_the_contracts() -> None:
    assert list(NAMES) == [*CONTRACT, *OURS]


def test_what_is_left_out_has_its_default() -> None:
    assert asdict(parse(harbour_light())) == {
        **harbour_light(),
        "whitelist": ("198.51.100.7",),
        "wumbo": True,
        "webhook": "",
        "minchansize": "",
        "maxchansize": "",
        "autocompaction": False,
        "defaultfeerate": "",
        "basefee": "",
        "amp": True,
        "wtclient": False,
        "maxpendingchannels": "",
        "allowcircularroute": False,
        "numgraphsyncpeers": "",
        "gccanceledinvoicesonstartup": False,
        "gccanceledinvoicesonthefly": False,
        "torskipproxyforclearnettargets": False,
        "rpcmiddleware": False,
        "optionscidalias": False,
        "zeroconf": False,
        "remotesigning": False,
        "remotesigninghost": "",
        "remotesigningmacaroon": "",
        "remotesigningcert": "",
        "listen": False,
    }
    assert parse(harbour_light(), listen=True).listen


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_setting_is_missed_by_name(name: str) -> None:
    given = harbour_light()
    del given[name]
    assert refused(given) == f"{name}: is required"


@pytest.mark.parametrize("name", BOOLEANS)
@pytest.mark.parametrize("value", [0, 1, "true", "false", "", None, [], 1.0])
def test_a_switch_is_a_boolean_and_nothing_like_one(name: str, value: object) -> None:
    assert refused(harbour_light(**{name: value})) == f"{name}: must be true or false"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", [0, 20_000, True, None, ["x"], {"a": 1}, 1.5])
def test_a_text_is_a_string_and_nothing_like_one(name: str, value: object) -> None:
    assert refused(harbour_light(**{name: value})) == f"{name}: must be a string"


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "value",
    [
        "-1",
        "+1",
        "1.5",
        "1e3",
        "0x10",
        " 1",
        "1 ",
        "1\n",
        "1_000",
        "٣",
        "\uff11",
        "1" * 17,
    ],
)
def test_a_number_is_up_to_16_plain_digits(name: str, value: str) -> None:
    message = refused(harbour_light(**{name: value}))
    assert message == f"{name}: must be a string of 1 to 16 digits, or empty"


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_may_be_empty(name: str) -> None:
    assert getattr(parse(harbour_light(**{name: ""})), name) == ""


@pytest.mark.parametrize("name", ["defaultfeerate", "basefee"])
def test_a_fee_fits_into_the_32_bits_it_travels_in(name: str) -> None:
    assert getattr(parse(harbour_light(**{name: "4294967295"})), name) == "4294967295"
    message = refused(harbour_light(**{name: "4294967296"}))
    assert message == f"{name}: must be at most 4,294,967,295"


@pytest.mark.parametrize("name", ["maxpendingchannels", "numgraphsyncpeers"])
def test_a_count_may_be_large_and_may_be_zero(name: str) -> None:
    for value in ("0", "007", "9999999999999999"):
        assert getattr(parse(harbour_light(**{name: value})), name) == value


@pytest.mark.parametrize(
    ("sizes", "field"),
    [
        ({"minchansize": "50000", "maxchansize": "49999"}, "minchansize"),
        ({"maxchansize": "1000000001"}, "maxchansize"),
        ({"maxchansize": "16777216", "wumbo": False}, "maxchansize"),
        ({"maxchansize": "0"}, "maxchansize"),
        # Against the defaults that lnd would put in: 20,000 and 10 BTC.
        ({"maxchansize": "19999"}, "maxchansize"),
        ({"minchansize": "1000000001"}, "minchansize"),
        ({"minchansize": "16777216", "wumbo": False}, "minchansize"),
    ],
)
def test_channel_sizes_that_lnd_would_not_start_with(
    sizes: dict[str, object], field: str
) -> None:
    assert refused(harbour_light(**sizes)).startswith(f"{field}: ")


@pytest.mark.parametrize(
    "sizes",
    [
        {"minchansize": "50000", "maxchansize": "50000"},
        {"maxchansize": "1000000000"},
        {"maxchansize": "16777215", "wumbo": False},
        {"minchansize": "16777215", "wumbo": False},
        {"minchansize": "0", "maxchansize": "1"},
    ],
)
def test_channel_sizes_at_their_limits(sizes: dict[str, object]) -> None:
    parse(harbour_light(**sizes))


@pytest.mark.parametrize(
    "alias",
    [
        "a",
        "x" * 32,
        "é" * 16,
        "🌊" * 8,
        "foo ; bar",
        "# harbour",
        "[light]",
        "a=b",
        "100%s $HOME",
        'the "light"',
        "back\\slash",
        "harbour\u00a0light",
    ],
)
def test_an_alias_of_1_to_32_bytes(alias: str) -> None:
    assert parse(harbour_light(alias=alias)).alias == alias


@pytest.mark.parametrize(
    "alias",
    ["", " ", "\u00a0", "x" * 33, "é" * 17, "🌊" * 8 + "x", '"', '"light', ' "light'],
)
def test_an_alias_that_lnd_would_not_live_with(alias: str) -> None:
    assert refused(harbour_light(alias=alias)).startswith("alias: ")


@pytest.mark.parametrize(
    "character",
    [
        *map(chr, range(32)),
        "\x7f",
        "\x85",
        "\u200b",
        "\u200f",
        "\u2028",
        "\u2029",
        "\ufeff",
        "\ud800",
        "\U000e0041",
    ],
)
@pytest.mark.parametrize("position", ["{}light", "har{}bour", "light{}"])
def test_an_alias_holds_nothing_that_cannot_be_seen(
    character: str, position: str
) -> None:
    message = refused(harbour_light(alias=position.format(character)))
    assert message == "alias: must not contain control, format or line characters"


def test_an_alias_is_trimmed_and_composed() -> None:
    decomposed = unicodedata.normalize("NFD", " Hafenlicht für Ü ")
    assert parse(harbour_light(alias=decomposed)).alias == "Hafenlicht für Ü"


@pytest.mark.parametrize("color", ["", "red", "#fff", "3399FF", "#3399FG", "#3399FF\n"])
def test_a_color_is_written_as_rrggbb(color: str) -> None:
    assert refused(harbour_light(color=color)) == "color: must look like #RRGGBB"


def test_zero_confirmations_need_aliases_for_channels() -> None:
    assert refused(harbour_light(zeroconf=True)).startswith(
        "zeroconf: optionscidalias must be true"
    )
    both = parse(harbour_light(zeroconf=True, optionscidalias=True))
    assert both.zeroconf


@pytest.mark.parametrize("name", [n for n in SIGNER if n != "remotesigning"])
def test_remote_signing_needs_all_its_parts(name: str) -> None:
    message = refused(harbour_light(**{**SIGNER, name: ""}))
    assert message == f"{name}: is required when remotesigning is true"


def test_the_parts_of_a_remote_signer_may_wait_until_it_is_turned_on() -> None:
    waiting = parse(harbour_light(**{**SIGNER, "remotesigning": False}))
    assert change(waiting, {"remotesigning": True}).remotesigning


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("remotesigninghost", "signer/../x"),
        ("remotesigningmacaroon", "not a macaroon!"),
        ("remotesigningcert", "-----BEGIN CERTIFICATE-----"),
    ],
)
def test_a_part_of_a_remote_signer_is_checked_even_when_off(
    name: str, value: str
) -> None:
    assert refused(harbour_light(**{name: value})).startswith(f"{name}: ")


def test_a_webhook_obeys_the_rules_of_the_installation() -> None:
    assert refused(harbour_light(webhook="http://hooks.example.org")) == (
        "webhook: must begin with https://"
    )
    plain = Allowed(schemes=frozenset({"http", "https"}), ports=frozenset({80}))
    settings = parse(harbour_light(webhook="http://hooks.example.org"), webhooks=plain)
    assert settings.webhook == "http://hooks.example.org"


@pytest.mark.parametrize("value", [True, "mine", 7, None, ["x"]])
def test_what_is_ours_to_say_is_ignored(value: object) -> None:
    given = harbour_light(sphinx=value, webhook_secret=value)
    assert parse(given) == parse(harbour_light())


def test_an_unknown_setting_is_refused_by_name() -> None:
    message = refused(harbour_light(debuglevel="trace"))
    assert message == "settings: unknown setting debuglevel"


def test_an_unknown_name_that_is_no_word_is_not_repeated() -> None:
    words = " ".join(["abandon"] * 12)
    assert refused(harbour_light(**{words: True})) == (
        "settings: unknown setting a name"
    )


@pytest.mark.parametrize("given", [None, [], "settings", 1, True])
def test_settings_are_an_object(given: object) -> None:
    assert refused(given) == "settings: must be an object"


def test_a_change_replaces_what_was_sent_and_nothing_else() -> None:
    before = parse(harbour_light(minchansize="50000"))
    after = change(before, {"alias": "second light", "keysend": False})
    assert after == replace(before, alias="second light", keysend=False)


def test_a_change_is_checked_against_what_stays() -> None:
    before = parse(harbour_light(maxchansize="500000000"))
    with pytest.raises(Malformed, match="maxchansize: must be at most 16,777,215"):
        change(before, {"wumbo": False})


def test_a_change_that_is_refused_names_the_setting() -> None:
    with pytest.raises(Malformed, match="amp: must be true or false"):
        change(parse(harbour_light()), {"amp": "yes"})


def test_a_secret_sent_back_as_shown_stays() -> None:
    before = parse(harbour_light(**SIGNER))
    shown = show(before, webhook_secret="s3cret")
    assert change(before, shown) == before
    assert change(before, {**shown, "remotesigningmacaroon": "ff" * 40}) != before


def test_a_mask_is_no_secret_for_a_new_node() -> None:
    given = harbour_light(**{**SIGNER, "remotesigningmacaroon": MASK})
    assert refused(given).startswith("remotesigningmacaroon: ")


def test_a_secret_can_be_taken_away_with_its_signer() -> None:
    before = parse(harbour_light(**SIGNER))
    after = change(before, {"remotesigning": False, "remotesigningmacaroon": ""})
    assert secrets_of(after) == {"remotesigningmacaroon": ""}


def test_what_is_shown_has_ours_and_no_secret() -> None:
    shown = show(parse(harbour_light(**SIGNER)), webhook_secret="s3cret")
    assert set(shown) == {*CONTRACT, *OURS, "sphinx", "webhook_secret"}
    assert shown["sphinx"] is False
    assert shown["webhook_secret"] == "s3cret"
    assert shown["remotesigningmacaroon"] == MASK
    assert shown["remotesigningcert"] == PEM
    assert shown["whitelist"] == ["198.51.100.7"]
    assert MACAROON not in str(shown)


def test_no_secret_is_shown_as_none() -> None:
    shown = show(parse(harbour_light()), webhook_secret="s3cret")
    assert shown["remotesigningmacaroon"] == ""


def test_secrets_are_kept_apart_and_come_back() -> None:
    settings = parse(harbour_light(**SIGNER))
    assert MACAROON not in str(asdict(without_secrets(settings)))
    assert with_secrets(without_secrets(settings), secrets_of(settings)) == settings


def test_secrets_do_not_show_when_settings_are_printed() -> None:
    printed = repr(parse(harbour_light(**SIGNER)))
    assert MACAROON not in printed
    assert "CERTIFICATE" not in printed


@pytest.mark.parametrize("name", NAMES)
def test_only_what_lnd_reads_needs_a_restart(name: str) -> None:
    before = parse(harbour_light(**SIGNER, zeroconf=False, optionscidalias=True))
    values: dict[str, object] = {
        "whitelist": [],
        "alias": "second light",
        "color": "#000000",
        "webhook": "https://hooks.example.org",
        "remotesigninghost": "other.example.org",
        "remotesigningmacaroon": "ff" * 40,
        "remotesigningcert": PEM * 2,
    }
    if name in BOOLEANS:
        value: object = not getattr(before, name)
    else:
        value = values.get(name, "30000")
    after = change(before, {name: value}, calls=AllowedCalls(tor=True))
    assert after != before
    assert needs_restart(before, after) is (name not in LIVE)


def test_nothing_changed_needs_no_restart() -> None:
    settings = parse(harbour_light())
    assert not needs_restart(settings, change(settings, {}))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(), _JSON))
def test_whatever_is_sent_is_read_or_refused(sent: dict[str, object]) -> None:
    try:
        settings = parse(harbour_light(**sent))
    except Malformed:
        return
    again = {**asdict(settings), "whitelist": list(settings.whitelist)}
    assert parse(again) == settings


@given(st.text(max_size=40))
def test_an_accepted_alias_is_one_that_lnd_lives_with(alias: str) -> None:
    try:
        stored = parse(harbour_light(alias=alias)).alias
    except Malformed:
        return
    assert 1 <= len(stored.encode()) <= 32
    assert stored == stored.strip()
    assert not stored.startswith('"')
    assert len(stored.splitlines()) == 1


@given(st.text(min_size=4, alphabet=st.characters(codec="utf-8")))
def test_a_refusal_never_repeats_a_value(value: str) -> None:
    for name in ("alias", "color", "minchansize", "remotesigningmacaroon", "webhook"):
        message = refused(harbour_light(**{name: f"~~{value}~~" * 20}))
        assert f"~~{value}~~" not in message


def test_tor_is_refused_where_nodes_have_none() -> None:
    wish = {"torskipproxyforclearnettargets": True}
    why = "torskipproxyforclearnettargets: must be false, because nodes of this "
    assert refused(harbour_light(**wish)).startswith(why)
    with pytest.raises(Malformed, match="must be false, because nodes of this"):
        change(parse(harbour_light()), wish)
    with_tor = AllowedCalls(tor=True)
    assert parse(harbour_light(**wish), calls=with_tor).torskipproxyforclearnettargets
    node = change(parse(harbour_light()), wish, calls=with_tor)
    assert node.torskipproxyforclearnettargets


def test_a_node_that_wants_tor_already_can_be_changed_where_there_is_none() -> None:
    wish = {"torskipproxyforclearnettargets": True}
    node = parse(harbour_light(**wish), calls=AllowedCalls(tor=True))
    assert change(node, {**wish, "alias": "pier"}).alias == "pier"
    off = change(node, {"torskipproxyforclearnettargets": False})
    assert not off.torskipproxyforclearnettargets
