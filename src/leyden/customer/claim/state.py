"""What a claim keeps on this machine until its channel is there.

A folder for each order, in which poold keeps the ticket and the keys of its channel:
the same order finds it again. No secret of the node is in it.
"""

import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import msgspec

from leyden.base.daemons.locks import locked
from leyden.base.files import write_private
from leyden.errors import Conflict, SetupError

_FILE: Final = "claim.json"


class TicketClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The node that an order's ticket is claimed for, and a macaroon not revoked."""

    node_id: str
    root_key: int = 0  # 0: none is to be revoked


class ClaimFolder:
    """The folder of one order's claim."""

    def __init__(self, order_id: str, environment: Mapping[str, str]) -> None:
        state = environment.get("XDG_STATE_HOME", "")
        home = Path(environment.get("HOME") or "~").expanduser()
        base = Path(state) if state else home / ".local" / "state"
        self._order_id = order_id
        self.folder = base / "leyden" / "claims" / order_id

    def locked(self) -> AbstractAsyncContextManager[int]:
        """Hold the order's claim; raise Conflict if another process has it."""
        lock = self.folder.with_name(f"{self.folder.name}.lock")
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return locked(lock, waiting=_refusing(self._order_id))

    def load(self) -> TicketClaim | None:
        """Return what is kept, or None."""
        path = self.folder / _FILE
        try:
            return msgspec.json.decode(path.read_bytes(), type=TicketClaim)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError:
            raise SetupError(f"{path}: not a claim that this version wrote") from None

    def save(self, claim: TicketClaim) -> None:
        """Write it down, for good."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        write_private(self.folder / _FILE, msgspec.json.encode(claim))

    def remove(self) -> None:
        """Remove the folder, once nothing of it is needed."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.with_name(f"{self.folder.name}.lock").unlink(missing_ok=True)


def _refusing(order_id: str) -> Callable[[], None]:
    def refuse() -> None:
        raise Conflict(f"another `leyden channels use-ticket {order_id}` is running")

    return refuse
