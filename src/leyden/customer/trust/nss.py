"""Databases of NSS, in which browsers keep whom they trust.

They are found by their paths, and looked after by NSS's own tool, certutil. Chromium
and its kin have one per person: in ~/.pki/nssdb where that is there, since version 146
otherwise in ~/.local/share/pki/nssdb. Firefox has one per profile. Snaps and flatpaks
have homes of their own.
"""

import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from leyden.customer.trust.base import Did, StoreOutcome
from leyden.customer.trust.root import Root
from leyden.errors import LeydenError
from leyden.values import Struct

_PATIENCE_S: Final = 30
_FOR_SERVERS: Final = "C,,"  # for TLS servers alone: not for mail, not for programs
_PACKAGES: Final = (
    ("apt-get", "sudo apt-get install libnss3-tools"),
    ("dnf", "sudo dnf install nss-tools"),
    ("yum", "sudo yum install nss-tools"),
    ("pacman", "sudo pacman -S nss"),
    ("zypper", "sudo zypper install mozilla-nss-tools"),
)
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


class NssDatabase(Struct, frozen=True, kw_only=True):
    """A database of NSS, and which browser reads it."""

    label: str
    folder: Path
    is_there: bool = True


def databases(home: Path, *, data: Path | None = None) -> list[NssDatabase]:
    """List the databases of a person's browsers, each once.

    `data` is where XDG_DATA_HOME leads. Where a Chromium is installed and was never
    started, the database that it would find is named, to be made.
    """
    found: dict[Path, NssDatabase] = {}
    for label, folder in _candidates(home, data):
        if (folder / "cert9.db").is_file():
            real = folder.resolve()
            found.setdefault(real, NssDatabase(label=label, folder=real))
    has_one = any(each.label == _CHROMIUM for each in found.values())
    if not has_one and any(map(shutil.which, _PROGRAMS)):
        # Every version reads this one, where it is there.
        new = home / ".pki" / "nssdb"
        found[new] = NssDatabase(label=_CHROMIUM, folder=new, is_there=False)
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


class _Failed(LeydenError):
    """Certutil did not do it."""


class NssStore:
    """The database of one browser."""

    def __init__(self, database: NssDatabase) -> None:
        self.label = database.label
        self._folder = database.folder
        self._is_there = database.is_there

    def add(self, root: Root) -> StoreOutcome:
        """Trust the root; one of the same name that is another makes way for it."""
        try:
            return self._outcome(self._added(root))
        except _Failed as error:
            return self._outcome(Did.FAILED, error.message)

    def remove(self, root: Root) -> StoreOutcome:
        """Remove exactly this root; whatever else is of its name stays."""
        if not self._is_there:
            return self._outcome(Did.ABSENT)
        try:
            if self._named(root.name) != root.der:
                return self._outcome(Did.ABSENT)
            self._run("-D", "-n", root.name)
            return self._outcome(Did.REMOVED)
        except _Failed as error:
            return self._outcome(Did.FAILED, error.message)

    def _added(self, root: Root) -> Did:
        if not self._is_there:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._run("-N", "--empty-password")
        before = self._named(root.name)
        if before == root.der and self._trusts(root.name):
            return Did.ALREADY
        if before is not None:
            self._run("-D", "-n", root.name)
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:
            file.write(root.pem)
            file.flush()
            try:
                self._run("-A", "-t", _FOR_SERVERS, "-n", root.name, "-i", file.name)
            except _Failed:
                # Where there is a password, it is kept all the same, without trust.
                self._try("-D", "-n", root.name)
                raise
        if self._named(root.name) != root.der:
            return Did.ALREADY  # imported by hand, under another name, which it keeps
        return Did.TRUSTED if before is None else Did.REPLACED

    def _named(self, name: str) -> bytes | None:
        """Return the certificate of this name, if there is one."""
        done = self._try("-L", "-n", name, "-a")
        try:
            return ssl.PEM_cert_to_DER_cert(done.stdout.strip())
        except ValueError:
            return None

    def _trusts(self, name: str) -> bool:
        return self._try("-V", "-u", "L", "-n", name).returncode == 0

    def _run(self, *words: str) -> None:
        done = self._try(*words)
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
            raise _Failed(
                f"{reason} (is there a primary password? then import by hand)"
            )

    def _try(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run it without a terminal, on which it would ask for a password."""
        certutil = shutil.which("certutil")
        if certutil is None:
            raise _Failed(f"certutil is missing; install it: {_package()}")
        return subprocess.run(
            [certutil, "-d", f"sql:{self._folder}", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            start_new_session=True,
        )

    def _outcome(self, did: Did, why: str = "") -> StoreOutcome:
        return StoreOutcome(store=self.label, where=str(self._folder), did=did, why=why)


def _package() -> str:
    for program, command in _PACKAGES:
        if shutil.which(program):
            return command
    return "install the tools of NSS"


def stores(databases: Sequence[NssDatabase]) -> list[NssStore]:
    """Return the stores of these databases."""
    return [NssStore(each) for each in databases]
