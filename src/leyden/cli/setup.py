"""Setting an installation up: its settings, its schema, its keys, what it lacks."""

import json
import os
import sys

import click

from leyden import app, settings
from leyden.app import egress
from leyden.cli.examination import examine
from leyden.cli.groups import Group
from leyden.cli.output import as_json, print_json
from leyden.values import asdict

_SECRET = ("password", "macaroon", "token", "url")


@click.command()
@as_json
@click.option("--markdown", is_flag=True, help="The table in docs/operating.md.")
def config(*, as_json: bool, markdown: bool) -> None:
    """Print every setting: its value, its default, what it means.

    Values come from LEYDEN_<NAME>, from LEYDEN_<NAME>_FILE, or from leyden.toml in the
    home folder.

    \b
    leyden config
    leyden config --json
    """
    values = settings.load(os.environ)
    rows = [
        {
            "name": name,
            "value": _shown(name, getattr(values, name)),
            "default": default,
            "meaning": sentence,
        }
        for name, default, sentence in settings.every_setting()
    ]
    if as_json:
        print_json({"settings": rows})
        return
    for row in rows:
        default = json.dumps(row["default"])
        if markdown:
            print(f"| `{row['name']}` | `{default}` | {row['meaning']} |")
        else:
            now = "" if row["value"] == row["default"] else f"  # now {row['value']!r}"
            print(f"# {row['meaning']}\n{row['name']} = {default}{now}\n")


def _shown(name: str, value: object) -> object:
    return "(set)" if value and name.endswith(_SECRET) else value


@click.command()
def migrate() -> None:
    """Make the schema and the keys of a new installation, or bring them up to date.

    Safe to repeat, and to interrupt: a migration is done whole or not at all. Warns of
    settings that the next `leyden serve` or `leyden worker` refuses to start with.

    \b
    leyden migrate
    """
    given = settings.load(os.environ)
    newest = app.migrate(given)
    print(f"the schema is at {newest}")
    if refused := egress.refusal(given):
        warning = "the next `leyden serve` or `leyden worker` will refuse to start"
        print(f"leyden: warning: {warning}: {refused}", file=sys.stderr)


@click.group(cls=Group)
def secrets() -> None:
    """Look after the keys that seal what is stored."""


@secrets.command()
def rotate() -> None:
    """Make a new sealing key, seal everything anew with it, forget the old one.

    Interrupted, it goes on where it was. Running servers read the new key when they
    first meet it. Back the file of keys up afterwards.

    \b
    leyden secrets rotate
    """
    from leyden.services import rotation  # noqa: PLC0415  with all of SQLAlchemy

    given = settings.load(os.environ)
    count = rotation.rotate(given.database, given.secrets_path)
    print(f"sealed {count} values anew; now back up {given.secrets_path}")


@click.command()
@as_json
def doctor(*, as_json: bool) -> None:
    """Look for what this machine lacks, and say the command that mends it.

    Exit 1 when something is missing without which `leyden up` cannot work, or
    `leyden serve` refuses to start with the present settings.

    \b
    leyden doctor
    """
    findings = list(examine(settings.load(os.environ), os.environ))
    if as_json:
        print_json({"findings": [asdict(each) for each in findings]})
    else:
        for each in findings:
            mark = "ok     " if each.well else "MISSING" if each.needed else "without"
            print(f"{mark}  {each.what}")
            if not each.well:
                print(f"         {each.mend}")
    sys.exit(int(any(each.needed and not each.well for each in findings)))
