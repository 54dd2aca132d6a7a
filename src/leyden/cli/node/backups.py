"""Looking after backups: of channels, of the seed, and what they are sealed under."""

from pathlib import Path

import click
import msgspec

from leyden.cli.customer.completion import node_argument
from leyden.cli.customer.progress import waiting
from leyden.cli.customer.session import Session, speaking
from leyden.cli.node.keeping import keep_macaroon
from leyden.cli.node.reaching import (
    admin_macaroon,
    macaroon_option,
    new_password,
    new_password_option,
    password_option,
    reached,
    read_macaroon,
    wallet_password,
)
from leyden.cli.node.showing import kept_private, seed_shown
from leyden.cli.output import as_json, print_fields, print_json, print_rows
from leyden.client import vault, wallets
from leyden.client.vault import Backup
from leyden.errors import Malformed, WrongPassword

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@node_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("channel.backup"),
    show_default=True,
    help="Where to write it.",
)
@click.option("--no-verify", is_flag=True, help="Do not have the node read it.")
@password_option
@macaroon_option
@as_json
@speaking
def backup(
    session: Session,
    node: str,
    *,
    out: Path,
    no_verify: bool,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """Fetch the backup of a node's channels, and have the node read it.

    lnd encrypted it under the seed. With the seed it brings home what is in channels.

    \b
    leyden node backup "harbour light" --out harbour.backup
    """
    found = session.node(node)
    content = session.client.backups.channels(found.node_id)
    kept_private(out, content)
    channels = None
    if not no_verify:
        password = "" if macaroon_file else wallet_password(password_file)
        admin = admin_macaroon(session, found, macaroon_file, password)
        with reached(session, found, macaroon=admin) as lnd:
            channels = wallets.verify_channels(lnd, content)
    shown = {
        "node_id": found.node_id,
        "file": str(out),
        "bytes": len(content),
        "verified": channels is not None,
        "channels": channels,
    }
    if as_json:
        print_json(shown)
    else:
        print_fields(shown)


@click.command()
@node_argument
@password_option
@as_json
@speaking
def seed(
    session: Session, node: str, *, password_file: Path | None, as_json: bool
) -> None:
    """Open the seed that is kept, and show it.

    \b
    leyden node seed pier
    """
    found = session.node(node)
    value = session.client.backups.seed(found.node_id).seed
    kept = Backup(node_id=found.node_id, kind="seed", value=value)
    words = vault.open_(kept, wallet_password(password_file)).split()
    if as_json:
        print_json({"node_id": found.node_id, "seed": words})
    else:
        seed_shown(words)


@click.command()
@node_argument
@click.option("--seed", "seed_file", type=_FILE, help="The seed: words, or sealed.")
@click.option("--macaroon", "macaroon_file", type=_FILE, help="A macaroon.")
@click.option("--name", help="What to keep the macaroon as.")
@password_option
@as_json
@speaking
def keep(
    session: Session,
    node: str,
    *,
    seed_file: Path | None,
    macaroon_file: Path | None,
    name: str | None,
    password_file: Path | None,
    as_json: bool,
) -> None:
    """Seal a seed or a macaroon of this node, and have it kept.

    \b
    leyden node keep pier --macaroon shop.macaroon --name shop
    """
    if bool(seed_file) == bool(macaroon_file) or bool(macaroon_file) != bool(name):
        raise Malformed("say what to keep: --seed, or --macaroon with its --name")
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
        session.client.backups.keep_seed(found.node_id, text)
    if as_json:
        print_json({"node_id": found.node_id, "kept": name or "seed"})
    else:
        print("kept, sealed under the wallet's password")


@click.command()
@node_argument
@password_option
@new_password_option
@as_json
@speaking
def reseal(
    session: Session,
    node: str,
    *,
    password_file: Path | None,
    new_password_file: Path | None,
    as_json: bool,
) -> None:
    """Put backups under another password; the wallet's own stays as it is.

    For what `leyden node password` could not finish, and for what another program
    sealed: it becomes JWE.

    \b
    leyden node reseal pier
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
    done = session.client.backups.reseal(found.node_id, anew) if anew else 0
    shown = {
        "node_id": found.node_id,
        "resealed": done,
        "under_another_password": [str(each) for each in left],
    }
    if as_json:
        print_json(shown)
    else:
        print_fields(shown)


@click.command()
@node_argument
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write them here, sealed as they are, as JSON.",
)
@as_json
@speaking
def replaced(session: Session, node: str, *, out: Path | None, as_json: bool) -> None:
    """List backups that others took the place of, and keep them.

    For thirty days: for when the new password is the one that is lost. Each opens with
    the password that it was sealed under.

    \b
    leyden node replaced pier --out before.json
    """
    found = session.client.backups.replaced(session.node(node).node_id)
    if out is not None:
        kept_private(out, msgspec.json.format(msgspec.json.encode(found)))
    if as_json:
        print_json({"replaced": found})
        return
    print_rows(
        ({"backup": each.name or "(seed)", "until": each.until} for each in found),
        empty="none was replaced in the last thirty days",
    )
