"""Where browsers keep whom they trust: databases of NSS, found by their paths.

Chromium and its kin have one per person: in ~/.pki/nssdb where that is there, since
version 146 otherwise in ~/.local/share/pki/nssdb. Firefox has one per profile. Snaps
and flatpaks have homes of their own.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leyden.values import Struct

_CHROMIUM: Final = "Chromium, Chrome"
_FIREFOX: Final = "Firefox"
# A profile's folder, or that of a person's database; relative to the person's home.
_DATABASES: Final = (
    (_CHROMIUM, ".pki/nssdb"),
    (_CHROMIUM, ".local/share/pki/nssdb"),
    ("{} (snap)", "snap/*/current/.pki/nssdb"),
    ("{} (snap)", "snap/*/current/.local/share/pki/nssdb"),
    ("{} (flatpak)", ".var/app/*/.pki/nssdb"),
    ("{} (flatpak)", ".var/app/*/.local/share/pki/nssdb"),
    ("{} (flatpak)", ".var/app/*/data/pki/nssdb"),
    (_FIREFOX, ".mozilla/firefox/*"),
    (_FIREFOX, ".config/mozilla/firefox/*"),
    ("LibreWolf", ".librewolf/*"),
    ("{} (snap)", "snap/*/common/.mozilla/firefox/*"),
    ("{} (snap)", "snap/*/common/.config/mozilla/firefox/*"),
    ("{} (flatpak)", ".var/app/*/.mozilla/firefox/*"),
    ("{} (flatpak)", ".var/app/*/config/mozilla/firefox/*"),
    ("{} (flatpak)", ".var/app/*/.librewolf/*"),
)
_PROGRAMS: Final = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("brave-browser", "microsoft-edge", "vivaldi", "opera"),
)


class Database(Struct, frozen=True, kw_only=True):
    """A database of NSS, and which browser reads it."""

    label: str
    folder: Path
    is_there: bool = True


def databases(home: Path, *, data: Path | None = None) -> list[Database]:
    """List the databases of a person's browsers, each once.

    `data` is where XDG_DATA_HOME leads. Where a Chromium is installed and was never
    started, the database that it would find is named, to be made.
    """
    found: dict[Path, Database] = {}
    for label, folder in _candidates(home, data):
        if (folder / "cert9.db").is_file():
            real = folder.resolve()
            found.setdefault(real, Database(label=label, folder=real))
    has_one = any(each.label == _CHROMIUM for each in found.values())
    if not has_one and any(map(shutil.which, _PROGRAMS)):
        # Every version reads this one, where it is there.
        new = home / ".pki" / "nssdb"
        found[new] = Database(label=_CHROMIUM, folder=new, is_there=False)
    return list(found.values())


def _candidates(home: Path, data: Path | None) -> Iterator[tuple[str, Path]]:
    for label, pattern in _DATABASES:
        for folder in sorted(home.glob(pattern)):
            yield label.format(_app(home, folder)), folder
    if data is not None:
        yield _CHROMIUM, data / "pki" / "nssdb"


def _app(home: Path, folder: Path) -> str:
    """Return which snap, or which flatpak, a folder is of."""
    words = folder.relative_to(home).parts
    return words[1] if words[0] == "snap" else words[2] if words[0] == ".var" else ""
