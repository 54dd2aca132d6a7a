"""Reaching a node as its owner: by its own name, trusting its authority alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from leyden.cli.customer.progress import waiting
from leyden.cli.customer.session import Session
from leyden.cli.secrets import asked_for
from leyden.client import Lnd, macaroons, vault
from leyden.client.node_items import NodeItem
from leyden.errors import Conflict, Malformed, NodeAway, NodeRefused, WrongPassword

SHORTEST_PASSWORD = 8  # lnd's own rule
ADMIN = "admin"
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
# lnd's own words, and what to do about them; the first that fits.
_MEANINGS = (
    ("wallet already exists", "this node has a wallet already"),
    ("wallet not found", "this node has no wallet yet: leyden node init {name}"),
    ("wallet locked", "the wallet is locked: leyden node unlock {name}"),
    ("already unlocked", "the wallet is open already"),
    ("checksum", "these are not the words of a seed: one is wrong, or out of place"),
    ("invalid mnemonic", "these are not the words of a seed"),
    ("different ip", "the macaroon is locked to another address than lnd sees"),
    ("macaroon has expired", "the macaroon has expired"),
    ("caveat not satisfied", "the macaroon is not good any more, or not from here"),
    ("cannot get macaroon", "the node does not know this macaroon: it was revoked"),
    ("verification failed", "the node does not know this macaroon: it was revoked"),
    ("unable to unpack chan", "this is no backup of channels of this seed"),
    ("permission denied", "the macaroon does not allow this"),
)

password_option = click.option(
    "--password-file",
    type=_FILE,
    help="A file with the wallet's password; else LEYDEN_WALLET_PASSWORD, or typed.",
)
new_password_option = click.option(
    "--new-password-file",
    type=_FILE,
    help="A file with the new password; else LEYDEN_NEW_PASSWORD, or asked for.",
)


def macaroon_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a way to bring a macaroon that is not in the vault."""
    return click.option(
        "--macaroon-file",
        type=_FILE,
        help="A macaroon to call the node with, instead of the vault's `admin`.",
    )(command)


def wallet_password(file: Path | None, *, twice: bool = False) -> str:
    """Give the wallet's password; asked for twice when it is a new one."""
    what = (
        f"New wallet password ({SHORTEST_PASSWORD} characters or more)"
        if twice
        else "Wallet password"
    )
    return asked_for(what, file=file, variable="LEYDEN_WALLET_PASSWORD", twice=twice)


def new_password(file: Path | None, *, what: str = "New password") -> str:
    """Give a new password."""
    found = asked_for(what, file=file, variable="LEYDEN_NEW_PASSWORD", twice=True)
    check_length(found)
    return found


def check_length(password: str) -> None:
    """Refuse what lnd would refuse, before anything is done."""
    if len(password.encode()) < SHORTEST_PASSWORD:
        raise Malformed(
            f"a wallet's password has {SHORTEST_PASSWORD} characters or more"
        )


@contextmanager
def reached(session: Session, node: NodeItem, *, macaroon: str = "") -> Iterator[Lnd]:
    """Reach the node; what goes wrong is told with the next step."""
    name = node.node_name
    with session.client.lnd(
        node.node_id, macaroon=macaroon, trusts=session.profile.authority
    ) as lnd:
        try:
            yield lnd
        except NodeAway as error:
            raise NodeAway(
                f"{error.message}; is it up (leyden nodes show {name!r}), and may this "
                f"machine reach it (leyden nodes whitelist {name!r})?"
            ) from None
        except NodeRefused as error:
            if "invalid passphrase" in error.message:
                raise WrongPassword("this is not the password of the wallet") from None
            raise NodeRefused(_meaning(error.message, name), code=error.code) from None


def state_is(lnd: Lnd, node: NodeItem, wanted: str) -> None:
    """Refuse what cannot be done now, in words that say what can."""
    match lnd.state():
        case state if state == wanted:
            return
        case "NON_EXISTING":
            raise Conflict(
                f"this node has no wallet yet: leyden node init {node.node_name!r}"
            )
        case "LOCKED":
            raise Conflict(
                "this node has a wallet, which is locked: "
                f"leyden node unlock {node.node_name!r}"
            )
        case "WAITING_TO_START":
            raise NodeAway("the node is starting; try again in a moment")
        case _:
            raise Conflict("this node has a wallet, which is open")


def until_running(session: Session, node: NodeItem, *, within_s: float = 180) -> None:
    """Wait until the platform sees that the node serves all calls."""
    with waiting("the node") as told:
        session.client.nodes.wait(
            node.node_id,
            {"running"},
            within_s=within_s,
            told=lambda seen: told(seen.status),
        )


def admin_macaroon(
    session: Session, node: NodeItem, macaroon_file: Path | None, password: str
) -> str:
    """Give a macaroon to call the node with: from a file, or from the vault."""
    if macaroon_file is not None:
        return read_macaroon(macaroon_file)
    kept = vault.macaroon(session.client.backups, node.node_id, ADMIN)
    return vault.open_(kept, password)


def read_macaroon(file: Path) -> str:
    """Read a macaroon as lnd's tools keep it, in binary, or as text; give it in hex."""
    content = file.read_bytes()
    if content[:2] == b"\x02\x01":
        return macaroons.parse(content.hex()).hex
    return macaroons.parse(content.decode(errors="replace")).hex


def _meaning(said: str, name: str) -> str:
    for words, meaning in _MEANINGS:
        if words in said.lower():
            return meaning.format(name=repr(name))
    return f"the node refused: {said}"
