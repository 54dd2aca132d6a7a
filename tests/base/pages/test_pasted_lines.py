"""Commands on pages, for people to paste into a shell."""

import html
import re
import subprocess
from pathlib import Path

import pytest

from leyden.base.pages.templates import environment

_SOURCE = Path(__file__).parents[3] / "src"
_COMMAND = re.compile(r"leyden [a-z][^<\n]*")
_VALUE = re.compile(r"\{\{ *(.*?) *\}\}")
# What we or lnd make, of letters and digits.
_PLAIN = ("order.lightning_invoice", "order.id", "node.id", "nodes[0].id if ")


@pytest.mark.parametrize(
    "name",
    [
        "harbour light",
        "$(touch harbour)",
        "`touch harbour`",
        "!!; touch harbour",
        'it\'s "quoted" & \\',
        "two\nlines",
        "",
    ],
)
def test_a_shell_takes_a_value_as_it_is(name: str, tmp_path: Path) -> None:
    line = environment(version="1").from_string("leyden wallet drill {{ name|shell }}")
    pasted = html.unescape(line.render(name=name))
    said = subprocess.run(
        ["sh"],
        cwd=tmp_path,
        input=f"leyden() {{ printf '<%s>' \"$@\"; }}\n{pasted}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert (said.stdout, said.stderr) == (f"<wallet><drill><{name}>", "")


def test_every_value_in_a_command_is_quoted() -> None:
    values = [
        value
        for file in _SOURCE.rglob("*.html")
        for command in _COMMAND.findall(file.read_text())
        for value in _VALUE.findall(command)
    ]
    assert "node.name|shell" in values
    unquoted = [each for each in values if not each.endswith("|shell")]
    assert [each for each in unquoted if not each.startswith(_PLAIN)] == []
