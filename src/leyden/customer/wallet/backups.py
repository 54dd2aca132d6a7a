"""Commands for backups of channels, seed and macaroons."""

from pathlib import Path

import click
import msgspec

from leyden.base.cli.output import as_json, print_json, print_one, print_rows
from leyden.client import vault, wallets
from leyden.client.vault import Backup
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet.keeping import keep_macaroon, resealed
from leyden.customer.wallet.reaching import (
    admin_macaroon,
    macaroon_option,
    new_password,
    new_password_option,
    open_node,
    password_option,
    read_macaroon,
    wallet_password,
)
from leyden.customer.wallet.seed_output import kept_private, seed_shown
from leyden.errors import Malformed

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@node_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("channel.backup"),
    show_default=True,
    help="File to write the backup to.",
)
@click.option(
    "--no-verify", is_flag=True, help=("Don't verify the backup with the node.")
)
@password_option
@macaroon_option
@as_json
@with_session
def backup(
    session: ApiSession,
    node: str,
    *,
    out: Path,
    no_verify: bool,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """Download a node's channel backup, and verify it with the node.

    lnd encrypts the backup with a key from the seed. Seed and backup together recover
    the coins in channels.

    \b
    leyden wallet backup "harbour light" --out harbour.backup
    """
    found = session.node(node)
    content = session.client.backups.channels(found.node_id)
    kept_private(out, content)
    channels = None
    if not no_verify:
        password = "" if macaroon_file else wallet_password(password_file)
        admin = admin_macaroon(session, found, macaroon_file, password)
        with open_node(session, found, macaroon=admin) as lnd:
            channels = wallets.verify_channels(lnd, content)
    shown = {
        "node_id": found.node_id,
        "file": str(out),
        "bytes": len(content),
        "verified": channels is not None,
        "channels": channels,
    }
    print_one(shown, as_json=as_json)


@click.command()
@node_argument
@password_option
@as_json
@with_session
def seed(
    session: ApiSession, node: str, *, password_file: Path | None, as_json: bool
) -> None:
    """Decrypt and print the stored seed.

    \b
    leyden wallet seed pier
    """
    found = session.node(node)
    value = session.client.backups.seed(found.node_id).seed
    stored = Backup(node_id=found.node_id, kind="seed", value=value)
    words = vault.open_(stored, wallet_password(password_file)).split()
    if as_json:
        print_json({"node_id": found.node_id, "seed": words})
    else:
        seed_shown(words)


@click.command()
@node_argument
@click.option(
    "--seed",
    "seed_file",
    type=_FILE,
    help="File with the seed: its words, or encrypted.",
)
@click.option("--macaroon", "macaroon_file", type=_FILE, help="File with the macaroon.")
@click.option("--name", help="Name to store the macaroon as.")
@password_option
@as_json
@with_session
def keep(
    session: ApiSession,
    node: str,
    *,
    seed_file: Path | None,
    macaroon_file: Path | None,
    name: str | None,
    password_file: Path | None,
    as_json: bool,
) -> None:
    """Encrypt a seed or macaroon of a node, and store it.

    \b
    leyden wallet keep pier --macaroon shop.macaroon --name shop
    """
    if bool(seed_file) == bool(macaroon_file) or bool(macaroon_file) != bool(name):
        raise Malformed("--seed, --macaroon: use --seed, or --macaroon with --name")
    found = session.node(node)
    password = wallet_password(password_file)
    if macaroon_file is not None and name is not None:
        keep_macaroon(session, found, name, read_macaroon(macaroon_file), password)
    elif seed_file is not None:
        about = Backup(node_id=found.node_id, kind="seed")
        text = seed_file.read_text().strip()
        if text.count(".") == 4:  # noqa: PLR2004  sealed already: see that it opens
            sealed = Backup(node_id=found.node_id, kind="seed", value=text)
            vault.open_(sealed, password)
        else:
            words = vault.seed_words(text)
            text = vault.seal(about, " ".join(words), password)
        session.client.backups.store_seed(found.node_id, text)
    if as_json:
        print_json({"node_id": found.node_id, "kept": name or "seed"})
    else:
        print("stored, encrypted with the wallet password")


@click.command()
@node_argument
@password_option
@new_password_option
@as_json
@with_session
def reseal(
    session: ApiSession,
    node: str,
    *,
    password_file: Path | None,
    new_password_file: Path | None,
    as_json: bool,
) -> None:
    """Re-encrypt backups with another password.

    Use it if `leyden wallet password` was interrupted, or for backups that another
    program encrypted: they become JWE. The wallet keeps its own password.

    \b
    leyden wallet reseal pier
    """
    found = session.node(node)
    before = wallet_password(password_file)
    after = new_password(new_password_file)
    anew, left = resealed(session, found, before, after)
    done = session.client.backups.reseal(found.node_id, anew) if anew else 0
    shown = {
        "node_id": found.node_id,
        "resealed": done,
        "under_another_password": [str(each) for each in left],
    }
    print_one(shown, as_json=as_json)


@click.command()
@node_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write the backups to: JSON, still encrypted.",
)
@as_json
@with_session
def replaced(
    session: ApiSession, node: str, *, out: Path | None, as_json: bool
) -> None:
    """List replaced backups, and save them with --out.

    Replaced backups are stored for 30 days, in case you lose the new password. Decrypt
    each with the password that it was encrypted with.

    \b
    leyden wallet replaced pier --out before.json
    """
    found = session.client.backups.replaced(session.node(node).node_id)
    if out is not None:
        kept_private(out, msgspec.json.format(msgspec.json.encode(found)))
    if as_json:
        print_json({"replaced": found})
        return
    print_rows(
        ({"backup": each.name or "(seed)", "until": each.until} for each in found),
        empty="no backups were replaced in the last 30 days",
    )
