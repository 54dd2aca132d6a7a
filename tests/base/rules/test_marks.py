from leyden.base.rules.combining_marks import MAX_MARKS, compose, limit_marks

MARKS = "\u0316\u0300"


def test_marks_that_no_letter_has_are_left_out() -> None:
    many = "a" + MARKS * 10_000 + "b"
    assert limit_marks(many) == f"a{(MARKS * MAX_MARKS)[:MAX_MARKS]}b"
    for plain in ("", "abc", "e\u0301t\u0301", "日本", f"a{MARKS * 10}"):
        assert limit_marks(plain) == plain


def test_a_text_is_composed_and_trimmed_within_its_length() -> None:
    assert compose(" e\u0301 ", limit=1) == "é"
    assert compose("ab", limit=1) is None
    assert compose("e" + "\u0301" * 4, limit=1) is None
    assert compose("   ", limit=5) == ""
