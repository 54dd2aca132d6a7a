"""Restoring a wallet from its seed and its channel backup."""

from pathlib import Path

import click

from leyden.base.cli.output import as_json
from leyden.base.cli.secrets import prompted
from leyden.client import ApiError, vault, wallets
from leyden.client.vault import Backup
from leyden.customer.completion import node_argument
from leyden.customer.node_waiting import wait_option, within_option
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet import keeping
from leyden.customer.wallet.passwords import done
from leyden.customer.wallet.reaching import (
    admin_macaroon,
    check_length,
    open_node,
    password_option,
    signs_itself,
    state_is,
    until_running,
    wallet_password,
)
from leyden.errors import Conflict, LeydenError, SetupError
from leyden.schemas.nodes import NodeItem

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_ADDRESSES = 2_500  # what lnd's own tools look through
_ABSENT = 404
_OPEN = frozenset({"RPC_ACTIVE", "SERVER_ACTIVE"})


@click.command()
@node_argument
@password_option
@click.option(
    "--from", "source", help=("Node whose stored seed to restore; can be this node.")
)
@click.option(
    "--old-password-file",
    type=_FILE,
    help="File with the password that encrypts the stored seed, if it differs.",
)
@click.option("--seed-file", type=_FILE, help="File with the words of the seed.")
@click.option(
    "--passphrase-file",
    type=_FILE,
    help="File with the seed's passphrase, if it has one.",
)
@click.option(
    "--channels", type=_FILE, help="Channel backup file; see `leyden wallet backup`."
)
@click.option("--without-channels", is_flag=True, help="Restore on-chain coins only.")
@click.option(
    "--window",
    type=click.IntRange(1, 100_000),
    default=_ADDRESSES,
    show_default=True,
    help="Number of addresses to search for coins.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the admin macaroon to this file.",
)
@wait_option
@within_option
@as_json
@with_session
def restore(
    session: ApiSession,
    node: str,
    *,
    password_file: Path | None,
    source: str | None,
    old_password_file: Path | None,
    seed_file: Path | None,
    passphrase_file: Path | None,
    channels: Path | None,
    without_channels: bool,
    window: int,
    out: Path | None,
    wait: bool,
    within_s: int,
    as_json: bool,
) -> None:
    """Restore a wallet on a new node from a seed and a channel backup.

    The seed comes from the vault of another node (--from), from a file, or from a
    prompt. lnd asks peers to close the channels in the backup, and their coins return
    to the wallet. The old node with this seed must never run again.

    \b
    leyden wallet restore "new light" --from "harbour light"
    leyden wallet restore "new light" --seed-file words --channels channel.backup

    If the node already has its wallet, the command restores only the channels.
    """
    found = session.node(node)
    origin = session.node(source) if source else None
    if origin is not None:
        _check_stopped(origin, found)
    with open_node(session, found) as lnd:
        backup = b"" if without_channels else _channels(session, origin, channels)
        if backup and lnd.state() in _OPEN:
            password = wallet_password(password_file)
            macaroon = admin_macaroon(session, found, None, password)
            _restore_channels(session, found, macaroon, backup, within_s=within_s)
            return
        state_is(lnd, found, "NON_EXISTING")
        signs_itself(session, found, wanted=True)
        password = wallet_password(password_file, twice=True)
        check_length(password)
        if origin is not None:
            seed = _from_vault(session, origin, password, old_password_file)
        else:
            seed = vault.seed_words(
                prompted("Words of the seed", file=seed_file, variable="LEYDEN_SEED")
            )
        passphrase = (
            passphrase_file.read_text("utf-8").rstrip("\r\n") if passphrase_file else ""
        )

        def make() -> str:
            return wallets.init(
                lnd,
                password,
                seed,
                passphrase=passphrase,
                recovery_window=window,
            )

        if keeping.has_seed(session, found):
            macaroon = make()
        else:
            macaroon = keeping.create_and_store(session, found, seed, password, make)
    done(
        session,
        found,
        macaroon,
        out,
        within_s=within_s if wait else 0,
        as_json=as_json,
    )
    if backup:
        _restore_channels(session, found, macaroon, backup, within_s=within_s)
    elif not wait:
        click.echo(
            "lnd is searching the chain for the wallet's coins, which may take "
            f"hours; see leyden nodes logs {found.node_name!r} -f",
            err=True,
        )


def _restore_channels(
    session: ApiSession,
    node: NodeItem,
    macaroon: str,
    backup: bytes,
    *,
    within_s: float,
) -> None:
    """Request that peers close the channels, after lnd's coin scan."""
    try:
        until_running(session, node, within_s=within_s)
        with open_node(session, node, macaroon=macaroon) as lnd:
            number = wallets.restore_channels(lnd, backup)
    except (TimeoutError, LeydenError):
        click.echo(
            "The wallet is restored, but its channels are not recovered yet. Once the "
            "node runs, run this command again with the channel backup.",
            err=True,
        )
        raise
    what = "channel is" if number == 1 else "channels are"
    click.echo(f"{number} {what} closing", err=True)


def _check_stopped(origin: NodeItem, found: NodeItem) -> None:
    """Raise Conflict if another node with the same seed is not stopped."""
    if origin.node_id != found.node_id and origin.status != "stopped":
        raise Conflict(
            f"{origin.node_name!r} is {origin.status}: two nodes with the same seed "
            f"lose money; stop it with `leyden nodes stop {origin.node_name!r}`, and "
            "never start it again"
        )


def _from_vault(
    session: ApiSession, origin: NodeItem, password: str, old_password_file: Path | None
) -> list[str]:
    value = session.client.backups.seed(origin.node_id).seed
    stored = Backup(node_id=origin.node_id, kind="seed", value=value)
    if old_password_file is not None:
        password = wallet_password(old_password_file)
    return vault.open_(stored, password).split()


def _channels(
    session: ApiSession, origin: NodeItem | None, channels: Path | None
) -> bytes:
    if channels is not None:
        if not (content := channels.read_bytes()):
            raise SetupError(f"{channels}: must not be empty")
        return content
    if origin is None:
        return b""
    try:
        return session.client.backups.channels(origin.node_id)
    except ApiError as error:
        if error.status == _ABSENT:
            return b""  # it had none
        raise
