"""Commands that create a wallet, unlock it, and change its password."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import click

from leyden.base.cli.output import as_json, print_json, print_one
from leyden.base.rules.times import utc_now
from leyden.client import Lnd, wallets
from leyden.customer.completion import node_argument
from leyden.customer.progress import waiting
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet import keeping
from leyden.customer.wallet.reaching import (
    ADMIN,
    check_length,
    new_password,
    new_password_option,
    open_node,
    password_option,
    signs_itself,
    state_is,
    until_running,
    wallet_password,
)
from leyden.customer.wallet.seed_output import confirm_seed, kept_private
from leyden.errors import Conflict, LeydenError, Malformed, SetupError
from leyden.schemas.nodes import NodeItem

_ADMIN_STORED: Final = "macaroon admin"
_OPENS_S = 300.0  # a new wallet, on a machine that has much to do


@click.command()
@node_argument
@password_option
@click.option(
    "--hide-seed",
    "unattended",
    is_flag=True,
    help="Don't show the seed. It is stored encrypted; `leyden wallet seed` shows it.",
)
@click.option(
    "--watch-only",
    "accounts",
    type=click.File(),
    help="Accounts of your own signer, as `lncli wallet accounts list` prints them: "
    "the wallet gets no private keys.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the admin macaroon to this file, for lncli.",
)
@as_json
@with_session
def init(
    session: ApiSession,
    node: str,
    *,
    password_file: Path | None,
    unattended: bool,
    accounts: IO[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Create a node's wallet.

    Prints the seed once, and asks for three of its words. Seed and admin macaroon are
    encrypted on this machine with the password; the platform stores only the
    ciphertext.

    \b
    leyden wallet init "harbour light"
    leyden wallet init pier --hide-seed --password-file pier.password
    leyden wallet init pier --watch-only accounts.json
    """
    found = session.node(node)
    signs_itself(session, found, wanted=not accounts)
    listed = _accounts(accounts) if accounts else None
    with open_node(session, found) as lnd:
        state_is(lnd, found, "NON_EXISTING")
        if listed:
            admin = _init_watch_only(session, lnd, found, listed, password_file)
            done(session, found, admin, out, stored=[_ADMIN_STORED], as_json=as_json)
            return
        if keeping.has_seed(session, found):
            raise Conflict(
                "a seed is stored for this node, which has no wallet: restore it with "
                f"leyden wallet restore {found.node_name!r} --from {found.node_name!r}"
            )
        password = wallet_password(password_file, twice=True)
        check_length(password)
        seed = wallets.new_seed(lnd)
        if not unattended:
            confirm_seed(seed)
        macaroon = keeping.create_and_store(
            session, found, seed, password, lambda: wallets.init(lnd, password, seed)
        )
    done(session, found, macaroon, out, as_json=as_json)


def _accounts(file: IO[str]) -> list[dict[str, Any]]:
    try:
        return wallets.watch_only_accounts(json.load(file))
    except (ValueError, AttributeError):
        raise Malformed(
            f"{file.name}: is not a list of accounts; print it at the signer with "
            "lncli wallet accounts list"
        ) from None


def _init_watch_only(
    session: ApiSession,
    lnd: Lnd,
    node: NodeItem,
    accounts: list[dict[str, Any]],
    password_file: Path | None,
) -> str:
    """Create a wallet whose keys are with the owner's signer; return its macaroon."""
    password = wallet_password(password_file, twice=True)
    check_length(password)
    macaroon = wallets.init_watch_only(lnd, password, accounts, now=utc_now())
    try:
        keeping.keep_macaroon(session, node, ADMIN, macaroon, password)
    except LeydenError as error:
        raise SetupError(
            f"the wallet is created, but its macaroon was not stored: {error.message}. "
            "lnd returns it once more to "
            f"leyden wallet password {node.node_name!r}; the password can stay the same"
        ) from None
    return macaroon


@click.command()
@node_argument
@password_option
@as_json
@with_session
def unlock(
    session: ApiSession, node: str, *, password_file: Path | None, as_json: bool
) -> None:
    """Unlock a node's wallet after a restart.

    To unlock nodes automatically, run `leyden unlocker`.

    \b
    leyden wallet unlock pier
    leyden wallet unlock pier --password-file pier.password
    """
    found = session.node(node)
    with open_node(session, found) as lnd:
        state_is(lnd, found, "LOCKED")
        known = wallet_password(password_file)
        with waiting("the wallet") as progress:
            progress("opening")
            wallets.unlock(lnd, known)
    until_running(session, found)
    if as_json:
        print_json({"node_id": found.node_id, "status": "running"})
    else:
        print(f"{found.node_name} is running")


@click.command()
@node_argument
@password_option
@new_password_option
@click.option("--yes", is_flag=True, help="Restart the node without asking.")
@as_json
@with_session
def password(
    session: ApiSession,
    node: str,
    *,
    password_file: Path | None,
    new_password_file: Path | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Change a wallet's password, and re-encrypt all backups with it.

    lnd can change the password only while the wallet is locked, so a running node
    restarts. If no admin macaroon is stored, the one that lnd returns is stored;
    for that alone, repeat the same password.

    \b
    leyden wallet password "harbour light"
    """
    found = session.node(node)
    before = wallet_password(password_file)
    after = new_password(new_password_file)
    anew, left = keeping.resealed(session, found, before, after)
    _locked(session, found, yes=yes)
    with open_node(session, found) as lnd:
        admin = wallets.change_password(lnd, before, after)
    try:
        if anew:
            session.client.backups.reseal(found.node_id, anew)
    except LeydenError as error:
        raise SetupError(
            "the wallet has the new password, but the backups still have the old one: "
            f"{error.message}. To re-encrypt them: leyden wallet reseal "
            f"{found.node_name!r}"
        ) from None
    stored = keeping.keep_admin(session, found, admin, after)
    until_running(session, found)
    shown = {
        "node_id": found.node_id,
        "status": "running",
        "kept": [_ADMIN_STORED] if stored else [],
        "resealed": len(anew),
        "under_another_password": [str(each) for each in left],
    }
    print_one(shown, as_json=as_json)


def done(
    session: ApiSession,
    node: NodeItem,
    macaroon: str,
    out: Path | None,
    *,
    within_s: float = _OPENS_S,
    stored: Sequence[str] = ("seed", _ADMIN_STORED),
    as_json: bool,
) -> None:
    """Print the new wallet's details, after waiting for the node if asked."""
    if out is not None:
        kept_private(out, bytes.fromhex(macaroon))
    if within_s:
        until_running(session, node, within_s=within_s)
    shown = {
        "node_id": node.node_id,
        "status": session.client.nodes.get(node.node_id).status,
        "kept": list(stored),
        "macaroon_file": str(out) if out else None,
    }
    print_one(shown, as_json=as_json)
    print(f"next: leyden wallet bake {node.node_name!r} NAME --preset read-only")


def _locked(session: ApiSession, node: NodeItem, *, yes: bool) -> None:
    """Ensure that the wallet is locked, by a restart if necessary."""
    with open_node(session, node) as lnd:
        state = lnd.state()
    if state == "LOCKED":
        return
    if state == "NON_EXISTING":
        raise Conflict(
            f"this node has no wallet yet: leyden wallet init {node.node_name!r}"
        )
    if not yes:
        click.confirm(
            "To change the password, the node must restart. Restart now?",
            abort=True,
            err=True,
        )
    session.client.nodes.restart(node.node_id)
    with waiting("the node") as progress:
        session.client.nodes.wait(
            node.node_id,
            {"waiting_unlock"},
            on_state=lambda node_: progress(node_.status),
        )
