import os
import shutil
from pathlib import Path

import pytest

from leyden.nodes.lnd.endings import LAST_BYTES, log_end, stopped_by_owner

AT = "2026-03-01 12:00:00.123"
OPENED = (
    f"{AT} [INF] LTND: Version Info version=0.20.2-beta commit=v0.20.2-beta "
    "debuglevel=production logging=info"
)
OPENED_BEFORE_0_19 = (
    f"{AT} [INF] LTND: Version: 0.18.5-beta commit=v0.18.5-beta, build=production, "
    "logging=default, debuglevel=info"
)
REQUEST = f"{AT} [INF] LTND: Received shutdown request."
SIGNAL = f"{AT} [INF] LTND: Received terminated"
CRITICAL = f"{AT} [CRT] SRVR: Unable to lookup witness: no disk"
DONE = f"{AT} [INF] LTND: Shutdown complete"


@pytest.mark.parametrize(
    ("lines", "code", "is_requested"),
    [
        ([OPENED, REQUEST, DONE], 0, True),
        ([OPENED, REQUEST, DONE], None, True),  # adopted: nobody tells us the code
        ([OPENED, REQUEST], 2, False),  # it panicked on its way out
        ([OPENED, REQUEST], -9, False),
        ([OPENED, SIGNAL, DONE], 0, False),  # the machine shuts down
        ([OPENED, SIGNAL, DONE], None, False),
        ([OPENED, CRITICAL, REQUEST, DONE], 0, False),
        ([OPENED, CRITICAL], 0, False),
        ([OPENED, REQUEST, DONE, OPENED, SIGNAL, DONE], 0, False),
        ([OPENED, SIGNAL, DONE, OPENED, REQUEST, DONE], None, True),
        # Of an earlier lnd, which says nothing about this one.
        ([OPENED, REQUEST, DONE, OPENED], None, False),
        ([OPENED, REQUEST, DONE, OPENED_BEFORE_0_19], None, False),
        ([OPENED, REQUEST, DONE, OPENED], 0, True),
        ([OPENED, SIGNAL, DONE, OPENED], 0, True),
        ([OPENED, CRITICAL, OPENED, REQUEST, DONE], 0, True),
        ([OPENED], 0, True),  # silenced by its owner
        ([OPENED], None, False),
        ([OPENED], 1, False),
        ([], 0, True),
        ([], None, False),
    ],
)
def test_only_an_owners_own_stop_is_one(
    lines: list[str], code: int | None, *, is_requested: bool
) -> None:
    assert stopped_by_owner("\n".join(lines).encode(), code) is is_requested


@pytest.mark.parametrize(
    "line",
    [
        f"{AT} [INF] PEER: alias {REQUEST}",
        f"{AT} [INF] LTND: Received shutdown request. said a peer",
        f" {REQUEST}",
        "Received shutdown request.",
    ],
)
def test_what_peers_put_into_a_line_is_not_lnds_word(line: str) -> None:
    assert not stopped_by_owner(f"{OPENED}\n{line}\n".encode(), None)


def test_the_end_of_a_long_log_is_read_and_no_log_is_none(tmp_path: Path) -> None:
    log = tmp_path / "lnd.log"
    assert log_end(log) == b""
    log.write_text("x" * 3 * LAST_BYTES + f"\n{REQUEST}\n")
    assert len(log_end(log)) == LAST_BYTES
    assert stopped_by_owner(log_end(log), None)


def test_log_end_is_empty_when_the_log_is_a_pipe_or_behind_a_link(
    tmp_path: Path,
) -> None:
    """lnd's user may replace it, and we read as root."""
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home, other):
        (folder / "logs/bitcoin/regtest").mkdir(parents=True)
    log = home / "logs/bitcoin/regtest/lnd.log"
    (other / "logs/bitcoin/regtest/lnd.log").write_text(REQUEST)
    os.mkfifo(log)
    assert log_end(log) == b""
    log.unlink()
    log.symlink_to(other / "logs/bitcoin/regtest/lnd.log")
    assert log_end(log) == b""
    shutil.rmtree(home / "logs")
    (home / "logs").symlink_to(other / "logs")
    assert log_end(log) == b""
