"""`leyden backup`: backups of the installation, their proof, and the way back."""

import asyncio
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from leyden.backups import backup_files, checking, drilling, review, running
from leyden.backups.backup_files import Programs
from leyden.backups.changes import following
from leyden.backups.store import recovery
from leyden.backups.store.recovery import RecoveryKey
from leyden.backups.wiring import backup_setup, restore_target, restored, restoring
from leyden.backups.wiring.restored import Restored
from leyden.base import settings
from leyden.base.cli.building import building
from leyden.base.cli.database import on_platform
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, operator, print_json, print_list, print_one
from leyden.base.daemons.progress import BuildState, BuildStep
from leyden.base.platform import Platform
from leyden.base.rules.times import to_iso
from leyden.nodes.wiring.home import only_one
from leyden.values import asdict

_KEY = click.option(
    "--key",
    "key_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The recovery key: also decrypts the keys in the backup, and all changes.",
)


@click.group(cls=LazyGroup)
def backup() -> None:
    """Back up the installation, verify backups, and restore one."""


@backup.command()
@click.option(
    "--recovery-key",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File to write the recovery key to; move it to another place.",
)
@click.option(
    "--recipient",
    multiple=True,
    help="Your own age recipient, instead of a new key; repeatable.",
)
@as_json
def init(recovery_key: Path, recipient: tuple[str, ...], *, as_json: bool) -> None:
    """Create the store that backup_store names, and the recovery key.

    The recovery key opens every backup. Without it, no backup can be
    restored: keep it on another machine, in a password manager or on paper,
    and delete it here.

    \b
    leyden backup init --recovery-key /media/usb/leyden-recovery.key
    """
    programs = _programs_of_a_store(password="-")  # noqa: S106  there is none yet
    made = on_platform(
        lambda platform: backup_setup.set_up(
            platform, programs, recovery_key, recipients=recipient
        )
    )
    print_one({"store": made.store, "recovery_key": str(recovery_key)}, as_json=as_json)
    print(
        f"leyden: now move {recovery_key} to another place, away from this machine "
        "and the store: it opens all backups, and without it you can restore none",
        file=sys.stderr,
    )


@backup.command()
@as_json
def run(*, as_json: bool) -> None:
    """Make a backup: database, sealing keys, authority and settings.

    The platform can keep running. A running platform makes a backup every
    backup_every_s seconds.

    \b
    leyden backup run
    """
    programs = _programs_of_a_store()
    made = on_platform(lambda platform: running.run(platform, programs))
    print_one(asdict(made), as_json=as_json)


@backup.command(hidden=True)
def follow() -> None:
    """Send changes of the database to the store, until standard input ends.

    The running platform starts this command itself.

    \b
    leyden backup follow < /dev/zero
    """
    given, programs = settings.load(os.environ), _programs()
    asyncio.run(following.run(given, programs))


@backup.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List the backups in the store, oldest first.

    \b
    leyden backup list
    """
    programs = _programs_of_a_store()

    async def found(platform: Platform) -> list[dict[str, Any]]:
        store = backup_files.store(platform.settings, programs)
        return [
            {
                "backup": each.id[:8],
                "made": to_iso(each.made),
                "host": each.host,
                "leyden": ", ".join(
                    tag.removeprefix("version=")
                    for tag in each.tags
                    if tag.startswith("version=")
                ),
            }
            for each in await store.snapshots()
        ]

    print_list(
        "backups",
        on_platform(found),
        as_json=as_json,
        empty="no backups yet; see: leyden backup run --help",
    )


@backup.command()
@_KEY
@as_json
def check(key_file: Path | None, *, as_json: bool) -> None:
    """Read and verify every byte in the store, and the newest backup.

    If anything is damaged or missing, names it and exits 1.

    \b
    leyden backup check
    leyden backup check --key /media/usb/leyden-recovery.key
    """
    key, programs = _key(key_file), _programs_of_a_store()
    found = on_platform(lambda platform: checking.check(platform, programs, key=key))
    good = "the backups are good"
    if not found.changes_opened:
        good += (
            ", but this home has no key for the changes since, so they were not read; "
            "check with --key"
        )
    _print_proof(asdict(found), good=good, as_json=as_json)


@backup.command()
@_KEY
@as_json
def drill(key_file: Path | None, *, as_json: bool) -> None:
    """Restore the newest backup into an empty folder, and verify it.

    The drill starts no node, and calls only the store and the database. It decrypts
    every stored secret, verifies every rule of the ledger, and compares the ledger with
    the running one. Exit 1 if something is wrong. Once a quarter, run a drill with the
    recovery key from its storage place.

    \b
    leyden backup drill
    leyden backup drill --key /media/usb/leyden-recovery.key
    """
    key, programs = _key(key_file), _programs_of_a_store()
    found = on_platform(lambda platform: drilling.drill(platform, programs, key=key))
    _print_proof(asdict(found), good="this backup can be restored", as_json=as_json)


@backup.command()
@click.option(
    "--key",
    "key_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The recovery key.",
)
@click.option("--store", default="", help="The store, if it has moved.")
@click.option("--backup", "wanted", default="latest", help="See `leyden backup list`.")
@click.option(
    "--old-machine-is-destroyed",
    "destroyed",
    is_flag=True,
    help="Confirm that the old machine can't run any more, and let this home start.",
)
@click.option(
    "--revoke-keys",
    is_flag=True,
    help="Revoke all API keys: one that was revoked since the backup works again.",
)
@as_json
def restore(
    key_file: Path | None,
    store: str,
    wanted: str,
    *,
    destroyed: bool,
    revoke_keys: bool,
    as_json: bool,
) -> None:
    """Restore a backup into an empty home, on a bare machine.

    Fetches and verifies the backup, writes it to LEYDEN_HOME, and migrates the
    database. The home can't start until you confirm that the old machine is destroyed:
    two machines with the same installation would run each node twice, which loses its
    money.

    What was revoked since the backup works again, such as a stolen API key. Revoke it
    again, or all keys with --revoke-keys, in either of the two steps.

    \b
    leyden backup restore --key leyden-recovery.key
    leyden backup restore --old-machine-is-destroyed
    """
    given = settings.load(os.environ)
    if key_file is None and not destroyed:
        raise click.UsageError("--key: name the file of the recovery key")
    if key_file is not None:
        key = recovery.read(key_file)
        restore_target.refuse_occupied(given)  # before anything is built
        found = asyncio.run(
            restoring.restore(
                given,
                _programs(),
                key,
                store=store,
                wanted=wanted,
                revoke_keys_as=operator() if revoke_keys else "",
            )
        )
    if destroyed:
        given = settings.load(os.environ)  # the restored ones
        alone = given.database.startswith("sqlite:")
        with only_one(given) if alone else nullcontext():
            found = asyncio.run(
                restored.confirm(given, actor=operator(), revoke_keys=revoke_keys)
            )
    _print_restored(found, str(given.home_path), as_json=as_json)


def _programs_of_a_store(*, password: str = "") -> Programs:
    """Return the programs; SetupError without a store, before anything is built."""
    backup_files.access(settings.load(os.environ), password=password)
    return _programs()


def _programs() -> Programs:
    with building() as progress:

        def quieter(step: BuildStep) -> None:
            if step.state is not BuildState.READY:
                progress(step)

        return asyncio.run(backup_files.programs(os.environ, progress=quieter))


def _key(path: Path | None) -> RecoveryKey | None:
    return recovery.read(path) if path is not None else None


def _print_proof(shown: dict[str, Any], *, good: str, as_json: bool) -> None:
    problems = shown["problems"]
    if as_json:
        print_json(shown)
    else:
        print_one({**shown, "problems": len(problems)}, as_json=False)
        print(*(problems or [good]), sep="\n")
    sys.exit(int(bool(problems)))


def _print_restored(found: Restored, home: str, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(found))
        return
    shown = {"home": home, "backup": found.backup[:8], "made": found.made}
    shown["until"] = found.until
    shown["sessions_ended"] = f"{found.sessions_ended:,}"
    shown["keys_revoked"] = f"{found.keys_revoked:,}"
    print_one(shown, as_json=False)
    print(f"\nThe restored data ends at {found.until}. Check what happened afterwards:")
    for what, lines in found.review.items():
        print(f"  {len(lines):6,}  {what}")
    print(f"{home}/{restored.FILE} lists them")
    keys = len(found.review.get(review.KEYS, ()))
    if keys and not found.keys_revoked:
        print(f"\nAPI keys revoked after {found.until} work again. In force: {keys:,}")
        print("Revoke those that must not work: leyden api-keys revoke")
        if not found.confirmed:
            print(
                "Or revoke all, once the old machine can't run any more:\n  "
                "leyden backup restore --old-machine-is-destroyed --revoke-keys"
            )
    print(
        "\nYou can start this home now: leyden serve"
        if found.confirmed
        else (
            "\nThis home can't start yet. Once the old machine can't run any more:\n  "
            "leyden backup restore --old-machine-is-destroyed"
        )
    )
