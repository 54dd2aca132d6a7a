"""The text of lnd.conf, and everything that has been tried to smuggle into it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.errors import Malformed
from leyden.nodes.lnd.conf import read, verify, write

KEYS = st.from_regex(r"[a-z]{1,8}(\.[a-z-]*[a-z])?", fullmatch=True)


def go_flags(content: bytes) -> list[tuple[str, str]]:
    """Read as go-flags 1.4 does, quotes and sections left alone: a third opinion."""
    options = []
    for raw in content.split(b"\n"):
        line = raw.decode().strip()
        if line and line[0] not in ";#[":
            key, _, value = line.partition("=")
            options.append((key.strip(), value.strip()))
    return options


def test_options_are_written_under_the_one_section() -> None:
    content = write([("alias", "harbour light"), ("color", "#3399FF")])
    assert content.decode().splitlines()[1:] == [
        "[Application Options]",
        "alias=harbour light",
        "color=#3399FF",
    ]


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "foo ; bar",
        "# light",
        "[Bitcoin]",
        "a=b",
        "%s",
        "$HOME",
        'a "b"',
        "é🌊",
        "\\",
    ],
)
def test_odd_but_harmless_values_are_read_back_as_written(value: str) -> None:
    lines = (("alias", value), ("color", "#3399FF"))
    assert read(write(lines)) == lines
    assert go_flags(write(lines)) == list(lines)


@pytest.mark.parametrize(
    "value",
    [
        "x\nrestcors=*",
        "x\r\nrestcors=*",
        "x\rrestcors=*",
        "x\n[Bitcoin]",
        "x\x00",
        "x\x0brestcors=*",
        "x\x85restcors=*",
        "x\u2028restcors=*",
        "x\u2029restcors=*",
        "x\x7f",
        "x\ud800",
        '"light',
        '"light\\nrestcors=*"',
        " light",
        "light ",
        "\u00a0light",
        "light\u3000",
        "",
    ],
)
def test_what_lnd_would_read_as_something_else_is_refused(value: str) -> None:
    with pytest.raises(Malformed, match="alias: "):
        write([("alias", value)])


@pytest.mark.parametrize(
    "key", ["", "a b", "a=b", "a\nb", "; a", "#a", "[a]", "A", "é"]
)
def test_a_name_is_a_name(key: str) -> None:
    with pytest.raises(Malformed, match="is not the name of an option"):
        write([(key, "true")])


@given(st.lists(st.tuples(KEYS, st.text(min_size=1))))
def test_whatever_is_written_is_read_back_or_refused(
    lines: list[tuple[str, str]],
) -> None:
    try:
        content = write(lines)
    except Malformed:
        return
    assert read(content) == tuple(lines)
    assert go_flags(content) == lines


@given(st.binary())
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        options = read(content)
    except Malformed:
        return
    assert all(key == key.strip() for key, _ in options)


@pytest.mark.parametrize(
    "content",
    [
        b"alias",
        b"[Bitcoin]\nalias=x",
        b"[Application Options\nalias=x",
        b'alias="x"',
        b"alias=\xff",
        b"a=b\n" * 300_000,
    ],
)
def test_a_file_that_is_not_ours_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed, match=r"lnd\.conf: "):
        read(content)


LINES = (("alias", "x"), ("restcors", "https://a.example"), ("restcors", "https://b"))


def test_what_was_meant_is_verified() -> None:
    verify(write(LINES), LINES, repeatable={"restcors"})


@pytest.mark.parametrize(
    "content",
    [
        write([*LINES, ("noseedbackup", "true")]),
        write(LINES[:2]),
        write([("alias", "y"), *LINES[1:]]),
        write([LINES[1], LINES[0], LINES[2]]),
        write(LINES).replace(b"alias=x", b"alias=x\nalias=y"),
    ],
)
def test_a_file_that_says_something_else_is_refused(content: bytes) -> None:
    with pytest.raises(Malformed, match="other options than intended"):
        verify(content, LINES, repeatable={"restcors"})


def test_an_option_named_twice_is_refused_even_when_meant() -> None:
    with pytest.raises(Malformed, match="twice"):
        verify(write(LINES), LINES, repeatable=())
