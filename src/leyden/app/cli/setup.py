"""Setting an installation up: its settings, and what the machine lacks."""

import json
import os
import sys
import textwrap

import click

from leyden.base import settings
from leyden.base.cli.output import as_json, print_json
from leyden.base.settings.private_chain import running_settings
from leyden.operators.cli import going_live
from leyden.operators.cli.doctor_checks import examine
from leyden.values import asdict

_SECRET = ("password", "macaroon", "token", "secret", "url")


@click.command()
@as_json
@click.option("--markdown", is_flag=True, help="Print the rows of docs' settings.md.")
def config(*, as_json: bool, markdown: bool) -> None:
    """Print every setting with its value, default and meaning.

    Values come from LEYDEN_<NAME>, from LEYDEN_<NAME>_FILE, or from
    leyden.toml in the home folder.

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
@as_json
@click.option(
    "--production", is_flag=True, help="Test the running installation before mainnet."
)
@click.option(
    "--cluster", is_flag=True, help="Test from a pod what nodes in a cluster can reach."
)
def doctor(*, as_json: bool, production: bool, cluster: bool) -> None:
    """Check what this machine lacks, and print commands that fix it.

    Exit 1 if `leyden up` or `leyden serve` can't start: a program is missing, or a
    setting is wrong.

    With --production, test each item of docs/operators/going-live.md on the running
    installation. Exit 1 if an item fails.

    With --cluster, check the cluster in the settings, and test from a pod whether
    NetworkPolicies are enforced. Exit 1 if they are not. In a pod of the platform, also
    check that gateways see their callers' addresses.

    \b
    leyden doctor
    leyden doctor --production
    leyden doctor --cluster
    """
    if cluster:
        sys.exit(going_live.examined_cluster(as_json=as_json))
    if production:
        sys.exit(going_live.examined(as_json=as_json))
    given = running_settings(settings.load(os.environ))
    findings = list(examine(given, os.environ))
    if as_json:
        print_json({"findings": [asdict(each) for each in findings]})
    else:
        for each in findings:
            mark = "ok     " if each.well else "MISSING" if each.needed else "without"
            print(f"{mark}  {each.what}")
            if not each.well:
                print(textwrap.indent(each.mend, " " * 9))
    sys.exit(int(any(each.needed and not each.well for each in findings)))
