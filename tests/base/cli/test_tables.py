"""Tables: whatever the terminal, a cell is whole."""

from leyden.base.cli import tables
from leyden.base.cli.tables import Row

LIGHTS: list[Row] = [
    {"name": "harbour light", "status": "running", "endpoint": "harbour.example.org"},
    {"name": "灯台", "status": "", "endpoint": "pier.example.org"},
]


def drawn(room: int | None, *spare: str) -> list[str]:
    return list(tables.drawn(LIGHTS, room=room, spare=spare))


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    assert drawn(80) == [
        "name           status   endpoint",
        "harbour light  running  harbour.example.org",
        "灯台                    pier.example.org",
    ]


def test_a_narrow_terminal_does_without_what_can_be_spared() -> None:
    assert drawn(30, "endpoint", "status") == [
        "name           status",
        "harbour light  running",
        "灯台",
    ]
    assert drawn(20, "endpoint", "status") == ["name", "harbour light", "灯台"]


def test_what_does_not_fit_at_all_is_a_block_of_lines_with_everything() -> None:
    assert drawn(25, "status") == [
        "name      harbour light",
        "status    running",
        "endpoint  harbour.example.org",
        "",
        "name      灯台",
        "status    -",
        "endpoint  pier.example.org",
    ]


def test_sentences_are_folded_at_words_and_nothing_else_is() -> None:
    row = {"says": "The newest of them all.", "invoice": "lnsb" * 10}
    assert list(tables.fields(row, room=25)) == [
        "says     The newest of",
        "         them all.",
        "invoice  " + "lnsb" * 10,
    ]
    (complete, _) = tables.fields(row, room=None)
    assert complete == "says     The newest of them all."


def test_in_a_pipe_lines_are_as_long_as_they_have_to_be() -> None:
    assert drawn(None, "endpoint")[1] == "harbour light  running  harbour.example.org"
