"""Making a wallet, opening it, and changing its password."""

from pathlib import Path

import click

from leyden.cli.customer.completion import node_argument
from leyden.cli.customer.progress import waiting
from leyden.cli.customer.session import Session, speaking
from leyden.cli.node import keeping
from leyden.cli.node.reaching import (
    check_length,
    new_password,
    new_password_option,
    password_option,
    reached,
    state_is,
    until_running,
    wallet_password,
)
from leyden.cli.node.showing import kept_private, written_down
from leyden.cli.output import as_json, print_fields, print_json
from leyden.client import vault, wallets
from leyden.client.node_items import NodeItem
from leyden.errors import Conflict, LeydenError, SetupError, WrongPassword

_OPENS_S = 300.0  # a new wallet, on a machine that has much to do


@click.command()
@node_argument
@password_option
@click.option(
    "--unattended",
    is_flag=True,
    help="Do not show the seed: it is kept sealed, and `leyden node seed` shows it.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the admin macaroon here, too, for lncli.",
)
@as_json
@speaking
def init(
    session: Session,
    node: str,
    *,
    password_file: Path | None,
    unattended: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Make a wallet for a node that has none.

    Shows the seed once, and asks for three of its words. Seed and admin macaroon are
    sealed here under the password, and kept by the platform as ciphertext.

    \b
    leyden node init "harbour light"
    leyden node init pier --unattended --password-file pier.password
    """
    found = session.node(node)
    with reached(session, found) as lnd:
        state_is(lnd, found, "NON_EXISTING")
        if keeping.has_seed(session, found):
            raise Conflict(
                "a seed is kept for this node, which has no wallet: restore it, "
                f"leyden node restore {found.node_name!r} --from {found.node_name!r}"
            )
        password = wallet_password(password_file, twice=True)
        check_length(password)
        seed = wallets.new_seed(lnd)
        if not unattended:
            written_down(seed)
        macaroon = keeping.made_and_kept(
            session, found, seed, password, lambda: wallets.init(lnd, password, seed)
        )
    done(session, found, macaroon, out, within_s=_OPENS_S, as_json=as_json)


@click.command()
@node_argument
@password_option
@as_json
@speaking
def unlock(
    session: Session, node: str, *, password_file: Path | None, as_json: bool
) -> None:
    """Open the wallet of a node that was started again.

    `leyden unlocker` does so whenever the node asks for it.

    \b
    leyden node unlock pier
    leyden node unlock pier --password-file pier.password
    """
    found = session.node(node)
    with reached(session, found) as lnd:
        state_is(lnd, found, "LOCKED")
        wallets.unlock(lnd, wallet_password(password_file))
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
@speaking
def password(
    session: Session,
    node: str,
    *,
    password_file: Path | None,
    new_password_file: Path | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Change a wallet's password, and put all backups under the new one.

    lnd changes it while the wallet is locked, so a node that runs is restarted.

    \b
    leyden node password "harbour light"
    """
    found = session.node(node)
    before = wallet_password(password_file)
    after = new_password(new_password_file)
    kept = vault.kept(session.client.backups, found.node_id)
    with waiting("the vault") as told:
        told("sealing backups under the new password")
        anew, left = vault.resealed(kept, [before], after)
    if kept and not anew:
        raise WrongPassword("this password opens none of the node's backups")
    _locked(session, found, yes=yes)
    with reached(session, found) as lnd:
        wallets.change_password(lnd, before, after)
    try:
        if anew:
            session.client.backups.reseal(found.node_id, anew)
    except LeydenError as error:
        raise SetupError(
            f"the wallet has the new password, backups the old one: {error.message}. "
            f"To put them under the new one: leyden node reseal {found.node_name!r}"
        ) from None
    until_running(session, found)
    shown = {
        "node_id": found.node_id,
        "status": "running",
        "resealed": len(anew),
        "under_another_password": [str(each) for each in left],
    }
    if as_json:
        print_json(shown)
    else:
        print_fields(shown)


def done(
    session: Session,
    node: NodeItem,
    macaroon: str,
    out: Path | None,
    *,
    within_s: float,
    as_json: bool,
) -> None:
    """Wait for a node with a new wallet to run, if it is to; say what is where."""
    if out is not None:
        kept_private(out, bytes.fromhex(macaroon))
    if within_s:
        until_running(session, node, within_s=within_s)
    shown = {
        "node_id": node.node_id,
        "status": session.client.nodes.get(node.node_id).status,
        "kept": ["seed", "macaroon admin"],
        "macaroon_file": str(out) if out else None,
    }
    if as_json:
        print_json(shown)
        return
    print_fields(shown)
    print(f"next: leyden node bake {node.node_name!r} NAME --preset read-only")


def _locked(session: Session, node: NodeItem, *, yes: bool) -> None:
    """See that the wallet is locked, by a restart if need be."""
    with reached(session, node) as lnd:
        state = lnd.state()
    if state == "LOCKED":
        return
    if state == "NON_EXISTING":
        raise Conflict(
            f"this node has no wallet yet: leyden node init {node.node_name!r}"
        )
    if not yes:
        click.confirm(
            "The node runs and has to be restarted for this; do so?",
            abort=True,
            err=True,
        )
    session.client.nodes.restart(node.node_id)
    with waiting("the node") as told:
        session.client.nodes.wait(
            node.node_id, {"waiting_unlock"}, told=lambda seen: told(seen.status)
        )
