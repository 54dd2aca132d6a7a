"""The system's store, which curl, Python and Go read: Linux keeps it in four ways."""

import os
import shlex
import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from leyden.customer.trust.base import Did, StoreOutcome
from leyden.customer.trust.root import Root

# The folder of what an operator adds, the ending of its files, and what takes them in.
_KINDS: Final = (
    ("etc/pki/ca-trust/source/anchors", ".pem", ("update-ca-trust", "extract")),
    ("usr/local/share/ca-certificates", ".crt", ("update-ca-certificates",)),
    ("etc/ca-certificates/trust-source/anchors", ".crt", ("trust", "extract-compat")),
    ("usr/share/pki/trust/anchors", ".pem", ("update-ca-certificates",)),
)
_ADMIN_PATHS: Final = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
_MODE: Final = "644"
_UMASK: Final = 0o022  # others read what is written, whatever we are allowed


class SystemStore:
    """The store of this machine; `base` is where its folders begin."""

    label = "system"

    def __init__(
        self, source: Path, *, base: Path = Path("/"), asks: bool = False
    ) -> None:
        """`source` is the root's file; `asks` whether sudo may ask for a password."""
        self._source = source
        self._asks = asks
        self._folder: Path | None = None
        for folder, ending, command in _KINDS:
            if (base / folder).is_dir():
                self._folder, self._ending = base / folder, ending
                self._command = command
                return

    def add(self, root: Root) -> StoreOutcome:
        """Put the root's file there, and take it in."""
        if self._folder is None:
            return self._outcome(
                root,
                Did.FAILED,
                "leyden does not know this system's trust store",
            )
        path = self._path(root)
        before = _der(path)
        if before == root.der:
            return self._outcome(root, Did.ALREADY)
        words = ["install", "-m", _MODE, "-T", str(self._source), str(path)]
        if why := self._privileged(words, self._command):
            if _der(path) == root.der:  # not taken in: the next time is to try again
                self._privileged(["rm", "-f", str(path)])
            return self._outcome(root, Did.FAILED, why)
        return self._outcome(root, Did.TRUSTED if before is None else Did.REPLACED)

    def remove(self, root: Root) -> StoreOutcome:
        """Remove the file, if it is of exactly this root."""
        if self._folder is None or _der(self._path(root)) != root.der:
            return self._outcome(root, Did.ABSENT)
        words = ["rm", "-f", str(self._path(root))]
        if why := self._privileged(words, self._command):
            return self._outcome(root, Did.FAILED, why)
        return self._outcome(root, Did.REMOVED)

    def _path(self, root: Root) -> Path:
        return (self._folder or Path()) / f"{root.file_name}{self._ending}"

    def _privileged(self, *commands: Sequence[str]) -> str:
        """Run commands that need rights; return why they could not be."""
        sudo: tuple[str, ...] = ()
        if not os.access(self._folder or "", os.W_OK):
            if not (self._asks and shutil.which("sudo")):
                typed = (f"sudo {shlex.join(words)}" for words in commands)
                return f"needs root; run: {' && '.join(typed)}"
            sudo = ("sudo", "--")
        for words in commands:
            program = shutil.which(words[0], path=_paths())
            if program is None:
                return f"{words[0]} is missing"
            done = subprocess.run(
                [*sudo, program, *words[1:]],
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                umask=_UMASK,
            )
            if done.returncode != 0:
                return (done.stderr.strip().splitlines() or [f"{words[0]} failed"])[-1]
        return ""

    def _outcome(self, root: Root, did: Did, why: str = "") -> StoreOutcome:
        where = str(self._path(root)) if self._folder is not None else ""
        return StoreOutcome(store=self.label, where=where, did=did, why=why)


def _paths() -> str:
    return f"{os.environ.get('PATH', '')}:{_ADMIN_PATHS}"


def _der(path: Path) -> bytes | None:
    try:
        return ssl.PEM_cert_to_DER_cert(path.read_text().strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return b""  # something of that name, which is not a certificate
