"""Encrypting a new wallet's secrets and storing them on the platform.

1. The seed is encrypted, and its ciphertext written to a local file.
2. lnd creates the wallet.
3. The admin macaroon is encrypted, and the platform stores both.
4. The file is removed. If a step in between fails, the file remains.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from leyden.client import ApiError, vault
from leyden.client.backups import Resealed
from leyden.client.vault import Backup
from leyden.customer.progress import waiting
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import ADMIN
from leyden.customer.wallet.seed_output import kept_private
from leyden.errors import LeydenError, NodeAway, NodeRefused, SetupError, WrongPassword
from leyden.schemas.nodes import NodeItem

# gRPC's codes for a call that may have been carried out: lnd ended meanwhile, say.
_LOST: Final = frozenset({1, 4, 14})


def create_and_store(
    session: ApiSession,
    node: NodeItem,
    seed: Sequence[str],
    password: str,
    make: Callable[[], str],
) -> str:
    """Create a wallet and store its secrets; return the admin macaroon.

    The macaroon is in hex.
    """
    about = Backup(node_id=node.node_id, kind="seed")
    sealed = vault.seal(about, " ".join(seed), password)
    file = _drafts() / f"{node.node_id}.seed.jwe"
    kept_private(file, sealed.encode())
    try:
        macaroon = make()
    except NodeRefused as error:
        if error.code in _LOST:
            raise _unknown(error, node, file) from None
        file.unlink()  # there is no wallet of this seed
        raise
    except NodeAway as error:
        raise _unknown(error, node, file) from None
    try:
        session.client.backups.store_seed(node.node_id, sealed)
        keep_macaroon(session, node, ADMIN, macaroon, password)
    except LeydenError as error:
        why = error.message
        raise SetupError(
            f"the wallet is created, but its backup was not stored: {why}. The "
            f"encrypted seed is in {file}; once you can reach the platform: leyden "
            f"wallet keep {node.node_name!r} --seed {file}"
        ) from None
    file.unlink()
    return macaroon


def _unknown(error: LeydenError, node: NodeItem, file: Path) -> NodeAway:
    return NodeAway(
        f"{error.message}: whether the wallet was created is unknown. Its encrypted "
        f"seed is in {file}; if the node has a wallet now: leyden wallet keep "
        f"{node.node_name!r} --seed {file}"
    )


def keep_macaroon(
    session: ApiSession, node: NodeItem, name: str, macaroon: str, password: str
) -> None:
    """Encrypt a macaroon and store it under a name."""
    about = Backup(node_id=node.node_id, kind="macaroon", name=name)
    sealed = vault.seal(about, macaroon, password)
    session.client.backups.store_macaroon(node.node_id, name, sealed)


def keep_admin(
    session: ApiSession, node: NodeItem, macaroon: str, password: str
) -> bool:
    """Store the admin macaroon if none is stored; return whether it was.

    None is stored if the creation of the wallet was interrupted after lnd created it,
    and before the platform had its macaroon.
    """
    stored = session.client.backups.macaroons(node.node_id)
    if any(each.name == ADMIN for each in stored):
        return False
    keep_macaroon(session, node, ADMIN, macaroon, password)
    return True


def resealed(
    session: ApiSession, node: NodeItem, before: str, after: str
) -> tuple[list[Resealed], list[Backup]]:
    """Re-encrypt a node's backups, without storing them; list those left as well.

    Raise WrongPassword if the password opens none of them.
    """
    backups = vault.backups_of(session.client.backups, node.node_id)
    with waiting("the vault") as progress:
        progress("re-encrypting backups with the new password")
        anew, left = vault.resealed(backups, [before], after)
    if backups and not anew:
        raise WrongPassword("this password decrypts none of the node's backups")
    return anew, left


def has_seed(session: ApiSession, node: NodeItem) -> bool:
    """Return whether a seed is stored; a node has at most one."""
    try:
        session.client.backups.seed(node.node_id)
    except ApiError as error:
        if error.status == 404:  # noqa: PLR2004
            return False
        raise
    return True


def _drafts() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if state else Path("~/.local/state").expanduser()
    return folder / "leyden"
