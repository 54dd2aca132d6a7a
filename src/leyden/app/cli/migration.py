"""What is stored, brought up to date: its schema, and the keys that seal it.

In a file of its own: SQLAlchemy and Alembic take longer to import than a whole start.
"""

import os
import sys
from pathlib import Path

import click

from leyden.app import migration
from leyden.base import settings
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, print_done
from leyden.base.files import write_private
from leyden.customer.progress import waiting
from leyden.nodes.wiring import authorities, cluster_keys, egress
from leyden.operators import key_rotation


@click.command()
def migrate() -> None:
    """Create or upgrade the database schema and the keys.

    You can repeat and interrupt it safely: a migration runs completely or not at all.
    It warns about settings that would keep `leyden serve` or `leyden worker` from
    starting.

    \b
    leyden migrate
    """
    given = settings.load(os.environ)
    newest = migration.migrate(given)
    print(f"the database schema is at {newest}")
    if refused := egress.startup_error(given):
        warning = "the next `leyden serve` or `leyden worker` will refuse to start"
        print(f"leyden: warning: {warning}: {refused}", file=sys.stderr)
    if advice := authorities.advice(given):
        print(f"leyden: warning: {advice}", file=sys.stderr)


@click.group(cls=LazyGroup)
def secrets() -> None:
    """Manage the keys that encrypt stored data."""


@secrets.command()
@as_json
def rotate(*, as_json: bool) -> None:
    """Create a new sealing key, and re-encrypt everything with it.

    The old key stays until the next rotation, and only decrypts: for what is stored
    late, and for older backups. If interrupted, run it again to continue. Running
    servers load the new key when they need it. Back up the key file afterwards.

    \b
    leyden encryption-keys rotate
    """
    given = settings.load(os.environ)
    authority = authorities.folder_of(given)
    with waiting("re-encrypting") as tell:
        count = key_rotation.rotate(
            given.database, given.secrets_path, authority, tell=tell
        )
    print_done(
        {"reencrypted": count, "file": str(given.secrets_path)},
        f"re-encrypted {count:,} values; now back up {given.secrets_path}",
        as_json=as_json,
    )


@secrets.command()
@click.argument("name", default="leyden-keys")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="New file to write it to, which only you can read; otherwise it is printed.",
)
def kubernetes(name: str, output: Path | None) -> None:
    """Print a Kubernetes Secret NAME with new keys.

    First set LEYDEN_NODES_DOMAIN to the installation's nodes_domain: the new authority
    signs certificates for no other domain. Apply the Secret once, and keep a copy
    elsewhere: without these keys you can't decrypt what is stored, and no command can
    create them again.

    \b
    leyden encryption-keys kubernetes --output keys.yaml
    """
    given = settings.load(os.environ)
    if output is None:
        print(cluster_keys.manifest(given, name=name), end="")
        return
    if output.exists():
        raise click.UsageError(
            f"--output: {output} already exists, maybe with keys that are in use; name "
            "a new file"
        )
    write_private(output, cluster_keys.manifest(given, name=name))
