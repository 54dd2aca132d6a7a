"""Which lnd may run, and which way an update goes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed, NotAllowed
from leyden.nodes.rules.versions import (
    LAST_UNSAFE,
    OFFERED,
    Catalogue,
    Release,
    Version,
    choose,
    choose_update,
    dropped,
    newest_for,
    parse_version,
    update_available,
)


def catalogue(*versions: str, default: str) -> Catalogue:
    return Catalogue(
        releases=tuple(Release(version=parse_version(text)) for text in versions),
        default=parse_version(default),
    )


def v(text: str) -> Version:
    return parse_version(f"v{text}-beta")


def test_what_is_offered() -> None:
    offered = [str(version) for version in OFFERED.versions]
    assert offered == ["v0.20.1-beta", "v0.20.2-beta", "v0.21.2-beta"]
    assert str(OFFERED.default) == "v0.20.2-beta"


def test_a_node_gets_the_default_unless_it_asks() -> None:
    assert choose() == v("0.20.2")
    assert choose("v0.21.2-beta") == v("0.21.2")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "0.20.2-beta",
        "v0.20.2",
        "v0.20.2-beta.rc1",
        "V0.20.2-beta",
        " v0.20.2-beta",
        "v0.20.2-beta\n",
        "v0.20.02-beta",
        "v00.20.2-beta",
        "v0.20.٢-beta",
        "v99999.0.0-beta",
        "../v0.20.2-beta",
        "v0.20.2-beta/../../bin/sh",
        "v0.20.2-beta --noseedbackup",
        "v0.20.2-beta\x00",
    ],
)
def test_what_is_no_version_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        choose(text)
    assert caught.value.message == "version: must look like v0.20.2-beta"


@pytest.mark.parametrize("value", [20, 0.2, True, ["v0.20.2-beta"], {}])
def test_a_version_is_a_string(value: object) -> None:
    with pytest.raises(Malformed, match="version: must be a string"):
        choose(value)


@pytest.mark.parametrize("text", ["v0.18.5-beta", "v0.17.0-beta", "v0.4.2-beta"])
def test_a_version_that_can_be_robbed_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(
        Malformed, match=r"v0\.18\.5-beta and older let a channel peer steal funds"
    ):
        choose(text)


@pytest.mark.parametrize("text", ["v0.19.0-beta", "v0.20.0-beta", "v9.0.0-beta"])
def test_a_version_not_on_offer_is_refused_with_the_choice(text: str) -> None:
    with pytest.raises(Malformed, match=r"v0\.20\.1-beta, v0\.20\.2-beta, v0\.21\.2"):
        choose(text)


@pytest.mark.parametrize(
    ("current", "newest"),
    [
        ("0.19.3", "0.20.2"),  # off the list: to the default line
        ("0.20.0", "0.20.2"),
        ("0.20.1", "0.20.2"),
        ("0.20.2", None),  # 0.21 drops calls: only when asked for
        ("0.21.0", "0.21.2"),
        ("0.21.2", None),
        ("0.22.0", None),
    ],
)
def test_an_update_stays_in_the_own_or_the_default_line(
    current: str, newest: str | None
) -> None:
    assert newest_for(v(current)) == (v(newest) if newest else None)
    assert update_available(v(current)) is (newest is not None)


def test_a_new_default_line_is_an_update() -> None:
    next_year = catalogue("v0.20.2-beta", "v0.22.1-beta", default="v0.22.1-beta")
    assert newest_for(v("0.20.2"), next_year) == v("0.22.1")


def test_a_newer_release_of_the_default_line_is_an_update_already() -> None:
    fresh = catalogue("v0.20.2-beta", "v0.20.3-beta", default="v0.20.2-beta")
    assert newest_for(v("0.20.2"), fresh) == v("0.20.3")


def test_an_update_goes_to_the_newest_or_where_it_is_asked_to() -> None:
    assert choose_update(v("0.20.1")) == v("0.20.2")
    assert choose_update(v("0.20.1"), "v0.21.2-beta") == v("0.21.2")


def test_nothing_newer_is_up_to_date() -> None:
    for text in (None, "v0.20.2-beta"):
        with pytest.raises(NotAllowed, match="node is already up to date"):
            choose_update(v("0.20.2"), text)


def test_there_is_no_way_back() -> None:
    with pytest.raises(NotAllowed, match="can't be downgraded"):
        choose_update(v("0.21.2"), "v0.20.2-beta")


def test_what_an_update_drops_is_told() -> None:
    assert dropped(v("0.20.1"), v("0.20.2")) == ()
    assert any(
        "/v1/channels/transactions" in lost
        for lost in dropped(v("0.20.1"), v("0.21.2"))
    )
    assert dropped(v("0.21.2"), v("0.21.2")) == ()


@pytest.mark.parametrize(
    ("versions", "default"),
    [
        (["v0.20.2-beta", "v0.20.1-beta"], "v0.20.1-beta"),
        (["v0.20.1-beta", "v0.20.1-beta"], "v0.20.1-beta"),
        (["v0.20.1-beta"], "v0.20.2-beta"),
        ([str(LAST_UNSAFE), "v0.20.1-beta"], "v0.20.1-beta"),
    ],
)
def test_a_wrong_catalogue_cannot_be_made(versions: list[str], default: str) -> None:
    with pytest.raises(ValueError, match=r"catalogue|default|unsafe"):
        catalogue(*versions, default=default)


_VERSIONS = st.builds(Version, *[st.integers(0, 9999)] * 3)


@given(_VERSIONS)
def test_a_version_reads_back_as_written(version: Version) -> None:
    assert parse_version(str(version)) == version


@given(_VERSIONS, st.sampled_from([None, *map(str, OFFERED.versions)]))
def test_an_update_never_goes_down(current: Version, text: str | None) -> None:
    with suppress(NotAllowed):
        assert choose_update(current, text) > current


@given(st.text())
def test_any_text_is_chosen_or_refused(text: str) -> None:
    with suppress(Malformed):
        assert str(choose(text)) == text
