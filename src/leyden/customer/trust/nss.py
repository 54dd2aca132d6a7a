"""Databases of NSS, looked after by its own tool, certutil."""

import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Final

from leyden.customer.trust.base import Did, Outcome
from leyden.customer.trust.browsers import Database
from leyden.customer.trust.root import Root
from leyden.errors import LeydenError

_PATIENCE_S: Final = 30
_FOR_SERVERS: Final = "C,,"  # for TLS servers alone: not for mail, not for programs
_PACKAGES: Final = (
    ("apt-get", "sudo apt-get install libnss3-tools"),
    ("dnf", "sudo dnf install nss-tools"),
    ("yum", "sudo yum install nss-tools"),
    ("pacman", "sudo pacman -S nss"),
    ("zypper", "sudo zypper install mozilla-nss-tools"),
)


class _Failed(LeydenError):
    """Certutil did not do it."""


class NssStore:
    """The database of one browser."""

    def __init__(self, database: Database) -> None:
        self.label = database.label
        self._folder = database.folder
        self._is_there = database.is_there

    def add(self, root: Root) -> Outcome:
        """Trust the root; one of the same name that is another makes way for it."""
        try:
            return self._outcome(self._added(root))
        except _Failed as error:
            return self._outcome(Did.FAILED, error.message)

    def remove(self, root: Root) -> Outcome:
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

    def _outcome(self, did: Did, why: str = "") -> Outcome:
        return Outcome(store=self.label, where=str(self._folder), did=did, why=why)


def _package() -> str:
    for program, command in _PACKAGES:
        if shutil.which(program):
            return command
    return "install the tools of NSS"


def stores(databases: Sequence[Database]) -> list[NssStore]:
    """Return the stores of these databases."""
    return [NssStore(each) for each in databases]
