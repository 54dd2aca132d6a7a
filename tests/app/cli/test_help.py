"""What every command says of itself: a sentence, an example that can be typed."""

import ast
import importlib
import inspect
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from leyden import __version__
from leyden.app import commands
from leyden.app.main import leyden
from leyden.base.cli import groups
from leyden.errors import SetupError
from tests.test_docs import SOURCES, parse


def every(
    command: click.Command, words: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    """Walk the parser: each command with the words that lead to it."""
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from every(found, (*words, name))


COMMANDS = dict(every(leyden))
DEVELOPERS = ("check", "test", "bench", "release", "dev ")


def examples(words: str, command: click.Command) -> list[str]:
    """Return the lines of its help that are commands."""
    lines = (line.strip() for line in (command.help or "").splitlines())
    text = "\n".join(lines).replace("\\\n", " ")
    before = r"(?:eval \"\$\(|\$\(|LEYDEN_HOME=.* )?"
    return re.findall(rf"^{before}(leyden {words}\b.*)$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("option", "about"),
    [
        ("--color", "#RRGGBB"),
        ("--gccanceledinvoicesonstartup", "cancelled invoices"),
        ("--gccanceledinvoicesonthefly", "an invoice once it is cancelled"),
        ("--remotesigningcert", "TLS certificate of the signer"),
        ("--remote-macaroon-file", "macaroon of the signer"),
    ],
)
def test_an_option_is_clear_without_its_label_in_forms(option: str, about: str) -> None:
    """The API reference has the same sentence."""
    (found,) = (each for each in COMMANDS["nodes create"].params if option in each.opts)
    assert isinstance(found, click.Option)
    assert about in (found.help or "")


def quoted(file: Path) -> Iterator[str]:
    """Return the commands in backticks in a module's texts, over lines and values."""
    for each in ast.walk(ast.parse(file.read_text())):
        parts = each.values if isinstance(each, ast.JoinedStr) else [each]
        text = "".join(
            part.value
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
            else "VALUE"
            for part in parts
        )
        yield from re.findall(r"`(?:\./)?leyden\s+([a-z][^`]*)`", text)


def test_every_command_that_a_message_names_is_one() -> None:
    files = [file for folder in SOURCES for file in folder.rglob("*.py")]
    named = {words for file in files for words in quoted(file)}
    assert len(named) > 100
    for words in named:
        if re.fullmatch(r"\w+ VALUE", words):  # one of several commands
            continue
        try:
            parse(shlex.split(words))
        except click.BadOptionUsage:
            pass  # an option, named without its value
        except click.ClickException as error:
            pytest.fail(f"leyden {words}: {error.format_message()}")


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_shows_how_it_is_typed(words: str) -> None:
    shown = examples(words, COMMANDS[words])
    assert shown, f"leyden {words}: --help has no example"
    for line in shown:
        typed = shlex.split(line.partition(")")[0], comments=True)
        typed = typed[1 : typed.index(">")] if ">" in typed else typed[1:]
        try:
            parse(typed)
        except click.ClickException as error:
            pytest.fail(f"{line}: {error.format_message()}")


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_says_what_it_is_for(words: str) -> None:
    silent = [
        option.opts[0]
        for option in COMMANDS[words].params
        if isinstance(option, click.Option) and not option.help
    ]
    assert not silent


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_of_a_customer_speaks_to_machines(words: str) -> None:
    if words.startswith(("nodes ", "channels ", "credit ", "webhooks ", "wallet ")):
        names = {name for option in COMMANDS[words].params for name in option.opts}
        assert {"--json", "--profile"} <= names


def test_every_command_that_answers_speaks_to_machines() -> None:
    silent = {
        words
        for words, command in COMMANDS.items()
        if "--json" not in {name for option in command.params for name in option.opts}
    }
    runs_on = {"up", "serve", "worker", "gateway", "mcp", "unlocker", "events forward"}
    prints_text = {"logs", "help", "completion", "config --markdown", "daemons path"}
    prints_text |= {"unlocker install"}  # commands to paste
    assert {each for each in silent if not each.startswith(DEVELOPERS)} <= {
        *(runs_on | prints_text | {"down", "migrate", "backup follow"}),
        *("encryption-keys kubernetes", "daemons build", "daemons wheel"),
    }


def test_the_table_says_what_each_commands_help_begins_with() -> None:
    context = click.Context(leyden)
    for name, listed in commands.COMMANDS.items():
        command = leyden.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=1_000) == listed.summary


@pytest.mark.parametrize("words", COMMANDS)
def test_a_body_takes_what_its_command_gives(words: str) -> None:
    callback = COMMANDS[words].callback
    if (module := vars(callback).get("body_in")) is None:
        return
    assert callback is not None
    body = getattr(importlib.import_module(module), callback.__name__)
    assert inspect.signature(body) == inspect.signature(callback)


@pytest.mark.parametrize("words", COMMANDS)
def test_every_sentence_fits_a_terminal(words: str) -> None:
    command = COMMANDS[words]
    context = click.Context(command, info_name=f"leyden {words}", terminal_width=80)
    assert max(map(len, command.get_help(context).splitlines())) <= 80


def test_benchmarks_are_listed_and_their_parts_are_not() -> None:
    listed = CliRunner().invoke(leyden, ["bench"]).output
    names = {line.split()[0] for line in listed.splitlines()}
    assert names >= {"boot", "hostile", "webhooks"}
    assert not names & {"attacks", "burner", "simulated_lnds"}
    unknown = CliRunner().invoke(leyden, ["bench", "attacks"])
    assert isinstance(unknown.exception, SetupError)


def test_commands_of_a_clone_are_listed_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    assert "Development commands:" in runner.invoke(leyden, ["--help"]).output
    monkeypatch.setattr(groups, "_ROOT", "/nowhere")
    listed = runner.invoke(leyden, ["--help"]).output
    assert "Development commands:" not in listed
    assert "\n  bench " not in listed
    assert "\n  doctor " in listed


def test_help_is_a_command_and_so_is_the_version() -> None:
    runner = CliRunner()
    for words in ([], ["channels"], ["nodes", "create"]):
        helped = runner.invoke(leyden, ["help", *words])
        assert helped.exit_code == 0
        asked = runner.invoke(leyden, [*words, "--help"], prog_name="leyden")
        assert helped.output == asked.output
    assert runner.invoke(leyden, ["help", "nothing"]).exit_code == 2
    printed = runner.invoke(leyden, ["version"]).output
    assert printed == f"leyden {__version__}\n"
    assert json.loads(runner.invoke(leyden, ["version", "--json"]).output) == {
        "version": __version__
    }
