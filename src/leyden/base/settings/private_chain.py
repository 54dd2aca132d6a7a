"""HOME/devnet/platform.json: the private chain that the platform of a home runs on.

`leyden up` of the workshop writes it. The commands of the home read it, so that they
need nothing of the workshop.
"""

from pathlib import Path
from typing import Any

import msgspec

from leyden.base.files import write_private
from leyden.base.settings.fields import PRIVATE_CHAIN, Settings
from leyden.errors import SetupError

_FILE = "platform.json"


class PrivateChain(msgspec.Struct, frozen=True, kw_only=True):
    """The chain, its market, and the settings that follow from them."""

    chain: str
    auctioneer: str  # host:port; "": this chain has no market
    settings: dict[str, Any]


def save(
    given: Settings, running: Settings, *, chain: str, auctioneer: str = ""
) -> None:
    """Save how the settings that the platform runs with differ from the given ones."""
    differs = {
        name: value
        for name, value in msgspec.structs.asdict(running).items()
        if value != getattr(given, name)
    }
    chain_ = PrivateChain(chain=chain, auctioneer=auctioneer, settings=differs)
    write_private(_path(given.home_path), msgspec.json.encode(chain_))


def find(home: Path) -> PrivateChain | None:
    """Return the private chain of a home, if it has one."""
    try:
        return msgspec.json.decode(_path(home).read_bytes(), type=PrivateChain)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise _unreadable(home, error) from None


def running_settings(given: Settings) -> Settings:
    """Return the settings that `leyden up` runs this home with.

    The settings are unchanged if `leyden up` never ran here.
    """
    found = find(given.home_path)
    if found is None:
        return given
    merged = {**msgspec.structs.asdict(given), **found.settings}
    try:
        return msgspec.convert(merged, type=Settings)
    except msgspec.ValidationError as error:  # of another version
        raise _unreadable(given.home_path, error) from None


def _unreadable(home: Path, error: msgspec.MsgspecError) -> SetupError:
    return SetupError(f"{_path(home)}: {error}; `leyden up` creates it again")


def _path(home: Path) -> Path:
    return home / PRIVATE_CHAIN / _FILE
