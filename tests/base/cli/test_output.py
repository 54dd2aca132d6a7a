"""What commands print: bytes and times for people, and for machines as they are."""

import time
from collections.abc import Iterator

import pytest

from leyden.base.cli.output import print_fields, print_json, print_rows

AT = "2026-03-01T12:00:05.123Z"
ROW = {
    "memory_bytes": 94_371_840,
    "bytes_in": 512,
    "blocks": 2016,
    "total_fee": 18_999,
    "uptime_s": 60,
    "limit": 25,
    "created": AT,
    "says": "at 2026-03-01T12:00:05.123Z",
}


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_bytes_have_units_and_times_are_those_of_the_reader(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_fields(ROW)
    shown = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()
    )
    assert shown == {
        "memory_bytes": "90.0 MiB",
        "bytes_in": "512 B",
        "blocks": "2,016 blocks",
        "total_fee": "18,999 sat",
        "uptime_s": "60 s",
        "limit": "25",
        "created": "2026-03-01 13:00:05 CET",
        "says": ROW["says"],
    }
    print_rows([{"created": AT}], empty="none")
    assert "2026-03-01 13:00:05 CET" in capsys.readouterr().out


@pytest.mark.usefixtures("berlin")
def test_machines_are_given_what_the_api_gave(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_json(ROW)
    assert '"memory_bytes": 94371840' in (shown := capsys.readouterr().out)
    assert f'"created": "{AT}"' in shown
