"""Why the market of a private chain is not open yet, for `leyden status` to show."""

import time
from pathlib import Path
from typing import Final

import msgspec

from leyden.base.files import write_private
from leyden.values import Struct
from leyden_workshop.compiler.estimates import in_words
from leyden_workshop.devnet import access

_FILE: Final = "market.json"


class MarketOpening(Struct, frozen=True, kw_only=True):
    """What the market waits for, and when it may be open; 0 if that is not known."""

    waits_for: str
    at: float = 0.0

    def words(self, now: float) -> str:
        """Return this as a line."""
        if not self.at:
            return self.waits_for
        if self.at < now:
            return f"{self.waits_for}, which takes longer than estimated"
        return f"{self.waits_for}; it opens in {in_words(self.at - now)}"


def save(home: Path, waits_for: str, *, within_s: float = 0.0) -> None:
    """Write down what the market waits for, and for how long."""
    at = time.time() + within_s if within_s else 0.0
    content = msgspec.json.encode(MarketOpening(waits_for=waits_for, at=at))
    write_private(_path(home), content, lasting=False)


def find(home: Path) -> MarketOpening | None:
    """Return what the market waits for; None if nothing is known."""
    try:
        return msgspec.json.decode(_path(home).read_bytes(), type=MarketOpening)
    except (OSError, msgspec.MsgspecError):
        return None


def clear(home: Path) -> None:
    """Forget it: the market is open, or nobody opens it any more."""
    _path(home).unlink(missing_ok=True)


def _path(home: Path) -> Path:
    return access.folder(home) / _FILE
