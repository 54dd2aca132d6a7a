"""Commands that bake, list, test and revoke macaroons."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from leyden.base.cli.confirmation import confirm, yes_option
from leyden.base.cli.output import as_json, print_json, print_rows
from leyden.client import macaroons as baked
from leyden.client import vault, wallets
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.customer.wallet.keeping import keep_macaroon
from leyden.customer.wallet.reaching import (
    ADMIN,
    admin_macaroon,
    macaroon_option,
    meaning,
    open_node,
    password_option,
    wallet_password,
)
from leyden.customer.wallet.seed_output import kept_private
from leyden.errors import CannotOpen, Conflict, Malformed, NodeRefused
from leyden.schemas.nodes import NodeItem

_out = click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it to a binary file for lncli.",
)


@click.command()
@node_argument
@click.argument("name")
@click.option(
    "--preset", type=click.Choice([*baked.PRESETS]), help="Set of permissions."
)
@click.option(
    "--permission",
    "permissions",
    multiple=True,
    type=click.Choice(baked.CHOICES),
    metavar="ENTITY:ACTION",
    help="Permission, as entity:action; repeatable.",
)
@click.option("--days", type=click.IntRange(1, 36_500), help="Days until it expires.")
@click.option(
    "--ip",
    default="",
    help=(
        "Limit to this IP address or CIDR block. Behind a gateway, lnd sees the "
        "gateway's address."
    ),
)
@click.option("--no-backup", is_flag=True, help="Don't store it in the vault.")
@password_option
@macaroon_option
@_out
@as_json
@with_session
def bake(
    session: ApiSession,
    node: str,
    name: str,
    *,
    preset: str | None,
    permissions: tuple[str, ...],
    days: int | None,
    ip: str,
    no_backup: bool,
    password_file: Path | None,
    macaroon_file: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Bake a macaroon with its own root key, and store it as NAME.

    Presets: admin (everything), wallet (everything except baking and revoking),
    read-only, invoices (create invoices, no spending), shop (invoices and balances),
    payments (spend over channels), accounts (payments and invoices).

    \b
    leyden wallet bake pier shop --preset invoices --days 365 --out shop.macaroon
    leyden wallet bake pier watcher --permission info:read --permission peers:read
    """
    if bool(preset) == bool(permissions):
        raise Malformed("--preset, --permission: use exactly one of these options")
    allowed = baked.PRESETS[preset] if preset else permissions
    now = datetime.now(UTC)
    until = now + timedelta(days=days) if days else None
    narrowing = baked.caveats(address=ip, until=until, now=now)
    found = session.node(node)
    names = {each.name for each in session.client.backups.macaroons(found.node_id)}
    if name in names and not no_backup:
        raise Conflict(
            "NAME: a macaroon of this name is already stored; choose another"
        )
    password = "" if macaroon_file and no_backup else wallet_password(password_file)
    admin = admin_macaroon(session, found, macaroon_file, password)
    with open_node(session, found, macaroon=admin) as lnd:
        made = wallets.bake(lnd, allowed)
    for caveat in narrowing:
        made = baked.narrowed(made, caveat)
    if not no_backup:
        keep_macaroon(session, found, name, made, password)
    if out is not None:
        kept_private(out, bytes.fromhex(made))
    shown = {"name": name, **_said(made), "macaroon": None if out else made}
    if as_json:
        print_json(shown)
    elif out is None:
        print(made)
    else:
        print(f"{name}: root key {shown['root_key']}, in {out}")


@click.command()
@node_argument
@password_option
@macaroon_option
@as_json
@with_session
def macaroons(
    session: ApiSession,
    node: str,
    *,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """List stored macaroons, and the root keys that the node knows.

    \b
    leyden wallet macaroons pier
    """
    found = session.node(node)
    password = wallet_password(password_file)
    rows = _stored(session, found, password)
    admin = admin_macaroon(session, found, macaroon_file, password)
    with open_node(session, found, macaroon=admin) as lnd:
        alive = wallets.root_keys(lnd)
    for row in rows:
        row["good"] = row["root_key"] in alive
    known = {row["root_key"] for row in rows}
    rows += [
        {
            "root_key": each,
            "name": "(commands)" if each == str(wallets.COMMANDS_ROOT_KEY) else "",
            "created": None,
            "may": [],
            "only": [],
            "good": True,
        }
        for each in alive
        if each not in known
    ]
    rows.sort(key=lambda row: (not row["root_key"].isdecimal(), row["root_key"]))
    if as_json:
        print_json({"node_id": found.node_id, "macaroons": rows})
    else:
        print_rows(
            rows,
            empty="no stored macaroons; see: leyden wallet bake --help",
            spare=("created",),
        )


@click.command("show-macaroon")
@node_argument
@click.argument("name")
@password_option
@_out
@as_json
@with_session
def macaroon(
    session: ApiSession,
    node: str,
    name: str,
    *,
    password_file: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Decrypt and print the macaroon stored as NAME.

    \b
    leyden wallet show-macaroon pier admin --out admin.macaroon
    """
    found = session.node(node)
    stored = vault.macaroon(session.client.backups, found.node_id, name)
    opened = vault.open_(stored, wallet_password(password_file))
    if out is not None:
        kept_private(out, bytes.fromhex(opened))
    if as_json:
        shown = None if out else opened
        print_json({"name": name, **_said(opened), "macaroon": shown})
    elif out is None:
        print(opened)


@click.command("test-macaroon")
@node_argument
@click.argument("name")
@password_option
@macaroon_option
@as_json
@with_session
def test_macaroon(
    session: ApiSession,
    node: str,
    name: str,
    *,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """Have the node check the macaroon stored as NAME, for calls from this machine.

    lnd says whether the macaroon has all its permissions, or was revoked, has expired,
    or is not valid from this address. Nothing is changed or stored.

    \b
    leyden wallet test-macaroon pier shop
    """
    found = session.node(node)
    password = wallet_password(password_file)
    stored = vault.macaroon(session.client.backups, found.node_id, name)
    opened = vault.open_(stored, password)
    admin = admin_macaroon(session, found, macaroon_file, password)
    why = ""
    with open_node(session, found, macaroon=admin) as lnd:
        try:
            wallets.check(lnd, opened)
        except NodeRefused as error:
            if error.code != wallets.CHECKED_REFUSED:
                raise
            why = meaning(error.message, found)
    if as_json:
        print_json({"name": name, "works": not why, "why": why})
    elif not why:
        print(f"{name}: works")
    if why:
        raise Conflict(f"{name} does not work: {why}")


@click.command()
@node_argument
@click.argument("name", required=False)
@click.option("--root-key", type=click.IntRange(0), help="Revoke by root key instead.")
@yes_option
@password_option
@macaroon_option
@as_json
@with_session
def revoke(
    session: ApiSession,
    node: str,
    name: str | None,
    *,
    root_key: int | None,
    yes: bool,
    password_file: Path | None,
    macaroon_file: Path | None,
    as_json: bool,
) -> None:
    """Revoke the macaroon NAME and all others under the same root key.

    This takes effect at once, and you can't undo it.

    \b
    leyden wallet revoke pier shop
    """
    if (name is None) == (root_key is None):
        raise Malformed("NAME, --root-key: give exactly one of these")
    found = session.node(node)
    password = wallet_password(password_file)
    if name is not None:
        stored = vault.macaroon(session.client.backups, found.node_id, name)
        root_key = int(baked.parse(vault.open_(stored, password)).root_key_id)
    if not root_key:
        raise Conflict(
            f"{ADMIN} is under root key 0, which lnd can't revoke: change the password"
        )
    confirm(f"Revoke all macaroons under root key {root_key}?", yes=yes)
    admin = admin_macaroon(session, found, macaroon_file, password)
    with open_node(session, found, macaroon=admin) as lnd:
        if str(root_key) not in wallets.root_keys(lnd):
            raise Conflict(f"there is nothing under root key {root_key} any more")
        wallets.revoke(lnd, root_key)
    if as_json:
        print_json({"node_id": found.node_id, "revoked": root_key})
    else:
        print(f"root key {root_key}: revoked")


def _stored(session: ApiSession, node: NodeItem, password: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for each in session.client.backups.macaroons(node.node_id):
        stored = vault.macaroon(session.client.backups, node.node_id, each.name)
        try:
            said = _said(vault.open_(stored, password))
        except CannotOpen as error:
            said = {"root_key": "?", "may": [error.message], "only": []}
        row = {"root_key": said["root_key"], "name": each.name}
        rows.append({**row, "created": each.created, **said})
    return rows


def _said(macaroon: str) -> dict[str, Any]:
    said = baked.parse(macaroon)
    preset = next(
        (
            name
            for name, allowed in baked.PRESETS.items()
            if sorted(said.permissions) == sorted(allowed)
        ),
        None,
    )
    return {
        "root_key": said.root_key_id,
        "may": [preset] if preset else list(said.permissions),
        "only": list(said.caveats),
    }
