"""A new wallet's secrets, sealed and given to the platform to keep.

1. The seed is sealed, and its ciphertext written to a file here.
2. lnd makes the wallet.
3. The admin macaroon is sealed, and both are given to the platform.
4. The file is removed. Whatever fails in between, the file is there.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from leyden.cli.customer.session import Session
from leyden.cli.node.reaching import ADMIN
from leyden.cli.node.showing import kept_private
from leyden.client import ApiError, vault
from leyden.client.node_items import NodeItem
from leyden.client.vault import Backup
from leyden.errors import LeydenError, NodeRefused, SetupError


def made_and_kept(
    session: Session,
    node: NodeItem,
    seed: Sequence[str],
    password: str,
    make: Callable[[], str],
) -> str:
    """Make a wallet and have its secrets kept; give the admin macaroon, in hex."""
    about = Backup(node_id=node.node_id, kind="seed")
    sealed = vault.seal(about, " ".join(seed), password)
    file = _drafts() / f"{node.node_id}.seed.jwe"
    kept_private(file, sealed.encode())
    try:
        macaroon = make()
    except NodeRefused:
        file.unlink()  # there is no wallet of this seed
        raise
    try:
        session.client.backups.keep_seed(node.node_id, sealed)
        keep_macaroon(session, node, ADMIN, macaroon, password)
    except LeydenError as error:
        why = error.message
        raise SetupError(
            f"the wallet is made, but its backup was not taken: {why}. The sealed seed "
            f"is in {file}; when the platform takes it again: "
            f"leyden node keep {node.node_name!r} --seed {file}"
        ) from None
    file.unlink()
    return macaroon


def keep_macaroon(
    session: Session, node: NodeItem, name: str, macaroon: str, password: str
) -> None:
    """Seal a macaroon and have it kept under a name."""
    about = Backup(node_id=node.node_id, kind="macaroon", name=name)
    sealed = vault.seal(about, macaroon, password)
    session.client.backups.keep_macaroon(node.node_id, name, sealed)


def has_seed(session: Session, node: NodeItem) -> bool:
    """Tell whether a seed is kept already: there is one place for one."""
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
