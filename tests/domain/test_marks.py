from leyden.domain.marks import MOST_MARKS, composed, with_few_marks

MARKS = "\u0316\u0300"


def test_marks_that_no_letter_has_are_left_out() -> None:
    many = "a" + MARKS * 10_000 + "b"
    assert with_few_marks(many) == f"a{(MARKS * MOST_MARKS)[:MOST_MARKS]}b"
    for plain in ("", "abc", "e\u0301t\u0301", "日本", f"a{MARKS * 10}"):
        assert with_few_marks(plain) == plain


def test_a_text_is_composed_and_trimmed_within_its_length() -> None:
    assert composed(" e\u0301 ", most=1) == "é"
    assert composed("ab", most=1) is None
    assert composed("e" + "\u0301" * 4, most=1) is None
    assert composed("   ", most=5) == ""
