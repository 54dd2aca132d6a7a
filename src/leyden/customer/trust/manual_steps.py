"""Systems whose stores `leyden trust` does not change: what to type there instead."""

import hashlib
from pathlib import Path

from leyden.customer.trust.root import Root
from leyden.values import Struct

_KEYCHAIN = "~/Library/Keychains/login.keychain-db"


class ByHand(Struct, frozen=True, kw_only=True):
    """The commands for one root on one system."""

    system: str
    trust: str
    untrust: str


def commands(platform: str, root: Root, file: Path) -> ByHand | None:
    """Return what to type on this platform, in `sys.platform`'s words; None on Linux.

    Both name the certificate by SHA-1, the only hash that every version takes.
    """
    hashed = hashlib.sha1(root.der, usedforsecurity=False).hexdigest().upper()
    if platform == "darwin":
        return ByHand(
            system="macOS",
            trust="security add-trusted-cert -r trustRoot -p ssl "
            f'-k {_KEYCHAIN} "{file}"',
            untrust=f"security delete-certificate -t -Z {hashed} {_KEYCHAIN}",
        )
    if platform == "win32":
        return ByHand(
            system="Windows",
            trust=f'certutil -user -addstore Root "{file}"',
            untrust=f"certutil -user -delstore Root {hashed}",
        )
    return None
