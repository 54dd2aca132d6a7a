"""The release archives of lnd, btcd and Pool, by pinned SHA-256.

A pin is a line of the project's signed manifest, in archives.txt or in the file that
LEYDEN_ARCHIVES_SUMS names. An archive without a pin is never downloaded.
"""

import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leyden.base.daemons.catalogue import Program, ToolSet, plain
from leyden.errors import SetupError
from leyden.values import Struct

URL: Final = "LEYDEN_ARCHIVES_URL"
SUMS: Final = "LEYDEN_ARCHIVES_SUMS"
_USUAL: Final = "https://github.com"
_PINNED: Final = Path(__file__).with_name("archives.txt")
_PIN: Final = re.compile(r"([0-9a-f]{64}) [ *](\S+)")
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_LND, _BTCD, _POOL = "lightningnetwork/lnd", "btcsuite/btcd", "lightninglabs/pool"
_REPOSITORIES: Final = {
    **dict.fromkeys(("lnd", "lncli"), _LND),
    **dict.fromkeys(("btcd", "btcctl"), _BTCD),
    **dict.fromkeys(("poold", "pool"), _POOL),
}


class Archive(Struct, frozen=True, kw_only=True):
    """A release archive; its programs are in a folder named like it."""

    url: str
    name: str  # without .tar.gz
    sha256: str


def find(program: Program, environment: Mapping[str, str]) -> Archive | None:
    """Return the archive of a program; None without a pin, or an address."""
    url = environment.get(URL, _USUAL).rstrip("/")
    repository = _REPOSITORIES.get(program.name)
    machine = _MACHINES.get(platform.machine())
    if not (url and repository and machine and platform.system() == "Linux"):
        return None
    if not url.startswith(("http://", "https://")):
        raise SetupError(f"{URL}: {url} is not an http:// or https:// URL")
    # A release of btcd calls itself 0.24.2-beta, and is tagged v0.24.2.
    beta = program.version
    version = plain(beta) if repository == _BTCD else beta
    name = f"{repository.partition('/')[2]}-linux-{machine}-v{version}"
    sha256 = _pins(environment).get(f"{name}.tar.gz")
    if sha256 is None:
        return None
    path = f"{repository}/releases/download/v{version}/{name}.tar.gz"
    return Archive(url=f"{url}/{path}", name=name, sha256=sha256)


def mark(cache: Path, tools: ToolSet, program: Program) -> Path:
    """Return the file that exists if a program in the cache is from an archive."""
    return cache / "daemons" / tools.key / "released" / program.name


def _pins(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 of archives by their names."""
    found = {}
    own = environment.get(SUMS)
    for file in (_PINNED, *([Path(own).expanduser()] if own else [])):
        try:
            lines = file.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SetupError(f"{SUMS}: cannot read {file} ({error})") from None
        for number, line in enumerate(map(str.strip, lines), start=1):
            if not line or line.startswith("#"):
                continue
            if (pin := _PIN.fullmatch(line)) is None:
                raise SetupError(
                    f"{SUMS}: {file}, line {number}: must be a SHA-256 and a file's "
                    "name, as in a manifest of a release"
                )
            found[pin[2]] = pin[1]
    return found
