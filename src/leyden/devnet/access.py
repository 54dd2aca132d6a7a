"""How the daemons of a private chain are reached: HOME/devnet/network.json, 0600.

Whoever has the file can mine and spend; it is what the commands, the platform and the
auctioneer use.
"""

from pathlib import Path

import msgspec

from leyden.errors import SetupError
from leyden.files import write_private

_FILE = "network.json"


class Btcd(msgspec.Struct, frozen=True, kw_only=True):
    """Where btcd answers, and as whom."""

    address: str  # host:port
    user: str
    password: str
    certificate: str  # a path

    def __repr__(self) -> str:
        return f"Btcd({self.address})"


class Lnd(msgspec.Struct, frozen=True, kw_only=True):
    """Where an lnd answers, and the files that let one in."""

    rest: str  # host:port, as the others
    grpc: str
    peer: str
    certificate: str
    macaroon: str


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """Where a poold answers, the files that let one in, and whose it is."""

    rest: str
    grpc: str
    certificate: str
    macaroon: str
    lnd: str  # the name of the one it trades for


class Auctioneer(msgspec.Struct, frozen=True, kw_only=True):
    """Where the auction is, and its control."""

    address: str
    control: str


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """A whole private chain."""

    chain: str
    daemons: list[str]  # in the order they are started in
    btcd: Btcd
    lnds: dict[str, Lnd]
    pools: dict[str, Pool] = {}
    auctioneer: Auctioneer | None = None  # None: it was left out


def port(address: str) -> int:
    """Give the port of host:port."""
    return int(address.rpartition(":")[2])


def folder(home: Path) -> Path:
    """Give the folder of an installation that holds its private chain."""
    return home / "devnet"


def save(home: Path, access: Access) -> None:
    """Keep it for its owner alone, whole or not at all."""
    path = folder(home) / _FILE
    write_private(path, msgspec.json.format(msgspec.json.encode(access)) + b"\n")


def load(home: Path) -> Access:
    """Read it; refuse a home that has no private chain."""
    path = folder(home) / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Access)
    except FileNotFoundError:
        raise SetupError(
            f"there is no private chain in {home}; `leyden up` makes one"
        ) from None
    except msgspec.MsgspecError as error:
        raise SetupError(f"{path}: {error}; `leyden up` writes it anew") from None
