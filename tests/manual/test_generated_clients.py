"""Strangers' tools make clean clients of openapi.json, and these clients work."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.base.http.operations import Table
from leyden.manual import unkeyed
from leyden.manual.openapi import document
from tests.client.served_platform import ServedPlatform
from tests.programs import is_plain, needs

HERE = Path(__file__).parent
ALL = (*OPERATIONS, *OPERATOR_OPERATIONS)
CALLS = """
import importlib, pkgutil, sys
import leyden_api.api, leyden_api.models
from leyden_api.api.account import keys_show
from leyden_api.api.channels_and_credit import flow_quote
from leyden_api.api.nodes import nodes_create, nodes_get, nodes_list
from leyden_api.client import AuthenticatedClient
from leyden_api.models import ChannelWish, NewNode, NewSettings, Problem
from leyden_api.models import NewNodeNetwork, NewNodeType

found = 0
for package in pkgutil.iter_modules(leyden_api.api.__path__, "leyden_api.api."):
    for each in pkgutil.iter_modules(importlib.import_module(package.name).__path__):
        found += hasattr(importlib.import_module(f"{package.name}.{each.name}"), "sync")
assert found == int(sys.argv[3]), found

client = AuthenticatedClient(
    base_url=sys.argv[1],
    token=sys.argv[2],
    prefix="",
    auth_header_name="X-SERVICE-AUTH",
)
key = keys_show.sync(client=client)
settings = NewSettings(
    autopilot=False, grpc=True, rest=True, keysend=True,
    whitelist=["127.0.0.1"], alias="stranger", color="#336699",
)
network, kind = NewNodeNetwork.TESTNET, NewNodeType.STANDARD
wanted = NewNode("stranger", network, kind, settings)
made = nodes_create.sync(key.organization_id, client=client, body=wanted)
shown = nodes_get.sync(key.organization_id, made.node_id, client=client)
assert shown.settings.alias == "stranger", shown
listed = nodes_list.sync(key.organization_id, client=client).nodes
assert made.node_id in {each.node_id for each in listed}
assert flow_quote.sync(client=client, body=ChannelWish(capacity=1_000_000)).total_fee
assert isinstance(flow_quote.sync(client=client, body=ChannelWish(capacity=7)), Problem)
print(key.organization_name)
"""

pytestmark = [
    pytest.mark.timeout(1_200),
    pytest.mark.skipif(is_plain(), reason="needs generators: only with --all"),
]


@pytest.fixture
def described(tmp_path: Path) -> Path:
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document(Table(ALL), version="0.1.0")))
    return file


def _run(*words: str, folder: Path) -> str:
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PATH": tools},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_python_client_is_made_without_a_warning_and_works(
    described: Path, platform: ServedPlatform, tmp_path: Path
) -> None:
    said = _run(
        "openapi-python-client",
        "generate",
        f"--path={described}",
        f"--output-path={tmp_path / 'leyden_api'}",
        "--meta=none",
        "--fail-on-warning",
        folder=tmp_path,
    )
    assert "Warning" not in said
    arguments = (
        platform.url,
        platform.key,
        str(len(ALL) + len(unkeyed.paths())),
    )
    assert "Harbour" in _run(sys.executable, "-c", CALLS, *arguments, folder=tmp_path)


@needs("node", "npm")
def test_a_linter_finds_nothing_and_a_typescript_client_works(
    described: Path, platform: ServedPlatform, tmp_path: Path
) -> None:
    for file in (HERE / "typescript").iterdir():
        shutil.copy(file, tmp_path)
    _run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=tmp_path)
    said = _run("npx", "redocly", "lint", str(described), folder=tmp_path)
    assert "warning" not in said.replace("Deprecation warning", "")  # of Node.js 20
    _run(
        *("npx", "openapi-typescript", str(described), "-o=api.d.ts"),
        "--default-non-nullable=false",
        folder=tmp_path,
    )
    _run("npx", "tsc", "--noEmit", "--exactOptionalPropertyTypes", folder=tmp_path)
    _run("npx", "tsc", "--outDir", "made", folder=tmp_path)
    said = _run("node", "made/use.js", platform.url, platform.key, folder=tmp_path)
    assert "Harbour" in said


@needs("go")
def test_a_go_client_is_made_and_works(
    described: Path, platform: ServedPlatform, tmp_path: Path
) -> None:
    for file in (HERE / "go").iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "leyden").mkdir()
    generate = ("go", "tool", "oapi-codegen", "-config", "config.yaml")
    _run(*generate, str(described), folder=tmp_path)
    said = _run("go", "run", ".", platform.url, platform.key, folder=tmp_path)
    assert "Harbour" in said
