"""Former names of commands and options: each works, and says the new one."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from leyden.app.main import leyden
from leyden.app.renamed import ALIASES, RENAMED, current
from tests.app.cli.conftest import Typed
from tests.test_docs import parse

ROOT = Path(__file__).parents[3]
# Each command with its options, as they were before any was renamed.
BEFORE = (Path(__file__).parent / "commands_before.txt").read_text().splitlines()
# A command with each option that has another name.
LINES = {
    "--most": "audit --most 5",
    "--within": "nodes start pier --within 5",
    "--give-up-after": "unlocker --give-up-after 5",
    "--at-once": "unlocker --at-once=5",
    "--unattended": "wallet init pier --unattended",
    "--nobody": "nodes create pier --nobody",
}
# What was typed in a release before, and what is run.
SAMPLES = {
    "flow orders -n 5": "channels list -n 5",
    "flow --profile work orders --most 5": "channels list --profile work --limit 5",
    "flow order 1000000 --within 5": "channels order 1000000 --timeout 5",
    "claim ORDER --for pier": "channels use-ticket ORDER --for pier",
    "node --profile=work init pier": "wallet init --profile=work pier",
    "node list": "nodes list",
    "nodes deleted --json": "nodes list --deleted --json",
    "wallet macaroon pier admin": "wallet show-macaroon pier admin",
    "wallet macaroons pier": "wallet macaroons pier",
    "subscriptions change ID --pause": "webhooks update ID --pause",
    "subscriptions delete ID": "webhooks delete ID",
    "orders": "orders list --needs-attention",
    "orders --json": "orders list --needs-attention --json",
    "orders list --json": "orders list --json",
    "orders --help": "orders --help",
    "pool abandon ORDER --reason lost": "orders abandon ORDER --reason lost",
    "pool open 5000000": "pool open 5000000",
    "org quota Pier nodes=5": "orgs quotas Pier nodes=5",
    "account correct --kind credit": "orgs credit correct --kind credit",
    "user operator a@example.org": "operators add a@example.org",
    "user operator a@example.org --end": "operators remove a@example.org",
    "user operator --end a@example.org": "operators remove a@example.org",
    "user create a@example.org": "users create a@example.org",
    "home accept ID --yes": "data-dir accept-copy ID --yes",
    "coupon create --note -- --most": "coupons create --note -- --most",
    "test --most": "test --most",
    "bench x --within 5": "bench x --within 5",
}


@pytest.mark.parametrize(("former", "now"), RENAMED.items())
def test_each_former_name_is_a_command_and_says_it(
    typed: Typed, former: str, now: str
) -> None:
    line = LINES.get(former, former)
    words, used = current(line.split())
    assert used == [(former, now)]
    parse(words)
    if former == "orders":  # of a group, whose help it has
        return
    answer = typed(*line.split(), "--help")
    assert answer.exit_code == 0, answer.output
    assert answer.stderr == f"leyden: `{former}` is now `{now}`\n"


@pytest.mark.parametrize(("typed_once", "now"), SAMPLES.items())
def test_what_was_typed_is_run(typed_once: str, now: str) -> None:
    assert current(typed_once.split())[0] == now.split()


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that these words name, and the words behind it."""
    command: click.Command = leyden
    while isinstance(command, click.Group) and words and words[0][0] != "-":
        name, *words = words
        found = command.get_command(click.Context(command), name)
        assert found is not None, name
        command = found
    return command, words


@pytest.mark.parametrize("line", BEFORE)
def test_every_command_and_option_there_was_still_works(line: str) -> None:
    names = [each for each in line.split() if each[0] != "-"]
    for option in (None, *line.split()[len(names) :]):
        words, _ = current([*names, option] if option else names)
        command, rest = command_of(words)
        assert not isinstance(command, click.Group) or command.invoke_without_command
        known = {
            each for of in command.params for each in (*of.opts, *of.secondary_opts)
        }
        assert {*rest} <= known | {"--profile"}, (line, words)


def test_only_new_names_are_listed_and_completed() -> None:
    context = click.Context(leyden)
    listed = leyden.list_commands(context)
    former = {each.split()[0] for each in RENAMED if " " not in each} | {*ALIASES}
    assert not {*listed} & (former - {"orders"})
    completed = {each.value for each in leyden.shell_complete(context, "")}
    assert {*listed} <= completed | {"check", "test", "bench", "release", "dev"}


def test_no_page_and_no_message_has_a_former_name() -> None:
    names = [each for each in RENAMED if "-" not in each and each != "orders"]
    pattern = re.compile(
        rf"leyden (?:flow|{'|'.join(map(re.escape, names))})(?![\w.=/-])(?!: )"
    )
    files = subprocess.run(
        ["git", "ls-files", "src", "docs", "deploy", "examples", "README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    texts = {
        each: (ROOT / each).read_text(errors="replace")
        for each in files
        if (ROOT / each).is_file()
    }
    assert not [
        (name, found[0]) for name in texts for found in pattern.finditer(texts[name])
    ]
