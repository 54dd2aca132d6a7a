"""What lnd's answers mean, whoever carries them."""

import json

import pytest

from leyden.errors import Away, LeydenError, NodeAway, NodeRefused, Refused
from leyden.lnd.rest import NODE, Errors, headers, read, read_line


def test_an_answer_is_an_object() -> None:
    assert read(200, b'{"state": "LOCKED"}', NODE) == {"state": "LOCKED"}


@pytest.mark.parametrize("status", [200, 404, 502])
@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'"x"', b"\xff"])
def test_who_answers_anything_else_is_no_lnd(status: int, content: bytes) -> None:
    with pytest.raises(NodeAway, match="the node did not return JSON"):
        read(status, content, NODE)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"code": 5, "message": "no", "details": []}, 5),
        ({"error": "no", "code": 5, "message": "no"}, 5),
        ({"grpc_code": 5, "message": "no"}, 5),
        ({"error": {"grpc_code": 5, "message": "no"}}, 5),
        ({"message": "no"}, 2),
    ],
)
def test_a_refusal_has_lnds_reason_and_the_number_of_its_kind(
    answer: dict[str, object], code: int
) -> None:
    with pytest.raises(NodeRefused, match=r"^no$") as refusal:
        read(500, json.dumps(answer).encode(), NODE)
    assert refusal.value.code == code


def test_a_stream_tells_results_until_it_tells_an_error() -> None:
    assert read_line(b'{"result": {"a": 1}}\n', NODE) == {"a": 1}
    with pytest.raises(NodeRefused, match=r"^too late$"):
        read_line(b'{"error": {"code": 1, "message": "too late"}}\n', NODE)


def test_who_calls_says_what_is_raised() -> None:
    said: list[str] = []

    def away(why: str) -> LeydenError:
        said.append(why)
        return Away(why)

    errors = Errors(away, lambda reason, code: Refused(f"{reason} ({code})"))
    with pytest.raises(Refused, match=r"no \(7\)"):
        read(403, b'{"code": 7, "message": "no"}', errors)
    with pytest.raises(Away):
        read(200, b"", errors)
    assert said == ["did not return JSON"]


def test_nothing_is_sent_where_there_is_no_macaroon() -> None:
    assert headers("") == {}
    assert headers("0201") == {"Grpc-Metadata-macaroon": "0201"}
