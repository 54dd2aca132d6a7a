"""The unlocker's nodes: their secrets, addresses and certificates.

Secrets and passwords are read when they are needed, so a file may change
while the unlocker runs: after a rotation, add the new webhook secret as a
line of its own.
"""

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from leyden.base.files import unreadable
from leyden.errors import SetupError
from leyden.lnd.trust import trusting
from leyden.values import Struct

SECRET_VARIABLE = "LEYDEN_UNLOCK_SECRET"  # noqa: S105  names, not values
PASSWORD_VARIABLE = "LEYDEN_UNLOCK_PASSWORD"  # noqa: S105
_OTHERS_MAY_READ = 0o077


class SecretSource(Struct, frozen=True, kw_only=True):
    """A secret from a file, or one given at the unlocker's start."""

    file: Path | None = None
    given: str = ""

    def read(self) -> str:
        """Return the current value, without the newline that editors add."""
        if self.file is None:
            return self.given
        try:
            text = self.file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(
                f"{self.file}: cannot be read ({unreadable(error)})"
            ) from None
        return text.removesuffix("\n").removesuffix("\r")

    @property
    def is_open_to_others(self) -> bool:
        """Whether other users of this machine may read the file."""
        if self.file is None or sys.platform == "win32":  # whose modes say nothing
            return False
        return bool(self.file.stat().st_mode & _OTHERS_MAY_READ)


class UnlockedNode(Struct, frozen=True, kw_only=True):
    """A node to unlock."""

    api: str
    password: SecretSource
    # One webhook secret a line: the present one, maybe others. None: it is only polled.
    secret: SecretSource | None = None
    ca_file: Path  # what `GET .../cert` gave; nothing else is trusted
    connect: str = ""  # where the gateway is, if the name does not lead there

    @property
    def secrets(self) -> list[str]:
        """The webhook secrets that are currently valid."""
        if self.secret is None:
            return []
        return [line.strip() for line in self.secret.read().split("\n") if line.strip()]

    @property
    def is_open_to_others(self) -> bool:
        """Whether other users of this machine may read its secrets."""
        sources = (self.secret, self.password)
        return any(each.is_open_to_others for each in sources if each is not None)

    def check(self) -> "UnlockedNode":
        """Raise SetupError for a configuration that could not work later."""
        if self.secret is not None and not self.secrets:
            raise SetupError(f"{self.api}: its webhook secret is empty")
        if not self.password.read():
            raise SetupError(f"{self.api}: its wallet password is empty")
        try:
            trusting(self.ca_file.read_text())
        except (OSError, ValueError):  # SSLErrors are OSErrors
            raise SetupError(
                f"{self.api}: {self.ca_file} has no certificate; save the node's with "
                "`leyden nodes cert`"
            ) from None
        host, _, port = self.connect.rpartition(":")
        if self.connect and not (host and port.isdigit()):
            raise SetupError(f"{self.api}: connect: must be HOST:PORT")
        return self


class NodeEntry(
    msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """A node in the file."""

    api: str
    password_file: str
    ca_file: str
    secret_file: str = ""  # without one, no event is taken for it
    connect: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    node: list[NodeEntry]


def listed(path: Path) -> list[NodeEntry]:
    """Read the file as it is."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File).node
    except (OSError, ValueError) as error:  # TOML's and msgspec's are ValueErrors
        raise SetupError(f"{path}: {error}") from None


def load(path: Path) -> list[UnlockedNode]:
    """Load nodes from a file; its paths are relative to its folder."""
    nodes = [
        UnlockedNode(
            api=each.api.lower(),
            secret=SecretSource(file=path.parent / each.secret_file)
            if each.secret_file
            else None,
            password=SecretSource(file=path.parent / each.password_file),
            ca_file=path.parent / each.ca_file,
            connect=each.connect,
        ).check()
        for each in listed(path)
    ]
    if len({node.api for node in nodes}) != len(nodes):
        raise SetupError(f"{path}: lists a node twice")
    return nodes


def from_environment(variable: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return an environment variable, or "" if not set."""
    return environment.get(variable, "")
