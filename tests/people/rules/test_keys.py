import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.people.rules.keys import PREFIX, hint, is_key, write_key


@given(st.binary(min_size=32, max_size=32))
def test_what_is_written_is_recognised(secret: bytes) -> None:
    key = write_key(secret)
    assert is_key(key)
    assert len(key) == 56
    assert key.startswith(hint(key))


@given(
    st.binary(min_size=32, max_size=32),
    st.integers(min_value=7, max_value=55),
    st.characters(codec="utf-8"),
)
def test_one_wrong_character_is_noticed(
    secret: bytes, count: int, character: str
) -> None:
    key = write_key(secret)
    changed = key[:count] + character + key[count + 1 :]
    assert is_key(changed) == (changed == key)


@pytest.mark.parametrize("text", ["", PREFIX, "leyden", "x" * 56, PREFIX + "0" * 49])
def test_anything_else_is_not_a_key(text: str) -> None:
    assert not is_key(text)


def test_the_hint_opens_nothing() -> None:
    assert not is_key(hint(write_key(bytes(32))))


def test_less_than_256_bits_make_no_key() -> None:
    with pytest.raises(ValueError, match="32 random bytes"):
        write_key(b"short")


def test_keys_that_are_out_there_are_keys_for_ever() -> None:
    """Whoever writes and recognises them in another way alike locks them all out."""
    for secret, key in (
        (bytes(32), f"{PREFIX}{'0' * 43}2CZclj"),
        (bytes(range(32)), "leyden_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP"),
        (b"\xff" * 32, "leyden_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp13sRzl1"),
    ):
        assert write_key(secret) == key
        assert is_key(key)
    assert hint(write_key(bytes(range(32)))) == "leyden_003a"


def test_what_begins_otherwise_or_is_not_ascii_is_no_key_however_it_adds_up() -> None:
    key = write_key(bytes(range(32)))
    assert not is_key("Leyden_" + key.removeprefix(PREFIX))
    assert not is_key(f"{PREFIX}{'é' * 43}1gDy0Q")
