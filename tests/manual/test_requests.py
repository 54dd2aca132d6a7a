"""The examples of the reference are requests that work, in each language."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.base.http.operations import Operation
from leyden.manual import requests
from leyden.manual.examples import examples
from tests.client.served_platform import ServedPlatform
from tests.programs import needs

NAMED = {each.name: each for each in OPERATIONS}
# One without a path or body, one with a query, one with a body, one with an owner.
TRIED = ("keys_show", "flow_ledger", "flow_quote", "nodes_list")
NODE = shutil.which("node")


def every(test: object) -> object:
    return pytest.mark.parametrize("name", NAMED)(test)


@every
def test_every_python_example_is_python(name: str) -> None:
    ast.parse(requests.python(NAMED[name], examples()[name]))


def test_every_curl_example_is_a_command() -> None:
    every = [requests.curl(each, examples()[each.name]) for each in OPERATIONS]
    shell = "curl() { printf '%s\\0' \"$@\"; printf '\\n'; }\n" + "\n".join(every)
    environment = {"LEYDEN_URL": "http://h", "LEYDEN_KEY": "k", "PATH": os.defpath}
    done = subprocess.run(
        ["bash", "-eu", "-c", f"LEYDEN_ORGANIZATION=o\n{shell}"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    lines = re.findall(r"(.*?\0)\n", done.stdout, re.DOTALL)
    for operation, line in zip(OPERATIONS, lines, strict=True):
        words = line.split("\0")
        assert words[0].startswith("http://h/")
        assert "X-SERVICE-AUTH: k" in words
        if "-d" in words:
            body = examples()[operation.name].body
            assert json.loads(words[words.index("-d") + 1]) == body


def _environment(platform: ServedPlatform) -> dict[str, str]:
    return {
        "LEYDEN_URL": platform.url,
        "LEYDEN_KEY": platform.key,
        "LEYDEN_ORGANIZATION": platform.organization_id,
        "PATH": os.environ["PATH"],
    }


def _run(program: list[str], platform: ServedPlatform) -> str:
    done = subprocess.run(
        program, capture_output=True, text=True, env=_environment(platform), check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _operation(name: str) -> Operation:
    return NAMED[name]


@needs("curl")
def test_the_curl_examples_run(platform: ServedPlatform) -> None:
    for name in TRIED:
        text = requests.curl(_operation(name), examples()[name])
        said = json.loads(_run(["bash", "-c", text], platform))
        assert set(said) == set(examples()[name].answer), name


def test_the_python_examples_run(platform: ServedPlatform) -> None:
    all_ = "\n".join(requests.python(NAMED[name], examples()[name]) for name in TRIED)
    said = _run([sys.executable, "-c", all_], platform)
    for name, line in zip(TRIED, said.splitlines(), strict=True):
        assert set(ast.literal_eval(line)) == set(examples()[name].answer), name


@needs("node")
def test_the_javascript_examples_run(platform: ServedPlatform, tmp_path: Path) -> None:
    tried = (requests.javascript(NAMED[name], examples()[name]) for name in TRIED)
    file = tmp_path / "all.mjs"
    file.write_text("\n".join(f"{{\n{each}\n}}" for each in tried))
    said = _run([str(NODE), str(file)], platform)
    for name in TRIED:
        for field in examples()[name].answer:
            assert field in said, (name, field)


@needs("node")
def test_every_javascript_example_is_javascript(tmp_path: Path) -> None:
    texts = (requests.javascript(each, examples()[each.name]) for each in OPERATIONS)
    file = tmp_path / "all.mjs"
    file.write_text("\n".join(f"{{\n{each}\n}}" for each in texts))
    subprocess.run([str(NODE), "--check", str(file)], check=True)
