from leyden.base.rules.combining_marks import compose


def test_a_text_is_composed_and_trimmed_within_its_length() -> None:
    assert compose(" e\u0301 ", limit=1) == "é"
    assert compose("ab", limit=1) is None
    assert compose("e" + "\u0301" * 4, limit=1) is None
    assert compose("   ", limit=5) == ""
