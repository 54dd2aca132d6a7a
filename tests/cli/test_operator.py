import asyncio
import os
from pathlib import Path

import pytest

from leyden import app, settings
from leyden.domain.keys import is_key
from leyden.errors import Unauthorized
from leyden.services import accounts
from tests.cli.conftest import Typed, told


@pytest.fixture
def migrated(typed: Typed) -> Typed:
    assert typed("migrate").exit_code == 0
    return typed


def authenticate(key: str) -> str:
    async def run() -> str:
        async with app.opened(settings.load(os.environ)) as platform:
            who = await accounts.authenticate(platform, key, now=platform.clock())
            return who.organization_id

    return asyncio.run(run())


def test_an_organization_a_user_and_a_key(migrated: Typed, tmp_path: Path) -> None:
    team = told(migrated("org", "create", "Harbour Light", "--json"))
    assert set(team) == {"organization_id", "name", "created"}
    id_ = team["organization_id"]
    (tmp_path / "password").write_text("a long enough one\n")
    user = told(
        migrated(
            *("user", "create", "Ada@Example.org", "--organization", id_),
            *("--role", "admin", "--password-file", str(tmp_path / "password")),
            "--json",
        )
    )
    assert (user["email"], user["role"]) == ("ada@example.org", "admin")
    key = told(
        migrated(
            *("key", "create", "--organization", id_, "--name", "backend"),
            *("--scope", "node,flow", "--json"),
        )
    )
    assert is_key(key["api_key"])
    assert authenticate(key["api_key"]) == id_
    assert key["scopes"] == ["flow", "node"]
    listed = told(migrated("key", "list", "--organization", id_, "--json"))
    assert key["api_key"] not in str(listed)
    assert listed["keys"][0]["key_id"] == key["key_id"]

    migrated("key", "revoke", key["key_id"], "--organization", id_)
    with pytest.raises(Unauthorized):
        authenticate(key["api_key"])

    lines = told(migrated("audit", "--json"))["audit"]
    assert [line["action"] for line in lines] == [
        "key revoked",
        "key created",
        "user created",
        "organization created",
    ]
    assert all(line["actor"].startswith("operator:") for line in lines)
    assert key["api_key"] not in str(lines)


def test_people_get_tables(migrated: Typed) -> None:
    assert "none yet" in migrated("org", "list").stdout
    migrated("org", "create", "Harbour Light")
    assert "Harbour Light" in migrated("org", "list").stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("org", "create", ""), "name: must have 1 to 50 characters"),
        (("key", "list", "--organization", "none"), None),
        (("key", "create", "--organization", "x", "--name", "y"), "not found"),
        (("key", "revoke", "x", "--organization", "y"), "not found"),
        (
            ("key", "create", "--organization", "x", "--name", "y", "--scope", "root"),
            "scope: must be one or more of: node, flow",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line(
    migrated: Typed, words: tuple[str, ...], reason: str | None
) -> None:
    result = migrated(*words)
    if reason is None:
        assert result.exit_code == 0
        return
    assert result.exit_code == (4 if reason == "not found" else 2)
    assert result.stderr == f"leyden: {reason}\n" or reason in result.stderr
    assert result.stderr.count("\n") == 1


def test_two_of_one_name_are_refused(migrated: Typed) -> None:
    migrated("org", "create", "Harbour Light")
    again = migrated("org", "create", "Harbour Light")
    assert "there is an organization named 'Harbour Light' already" in again.stderr


def test_a_short_password_is_refused(migrated: Typed, tmp_path: Path) -> None:
    team = told(migrated("org", "create", "Harbour Light", "--json"))
    (tmp_path / "password").write_text("short")
    refused = migrated(
        *("user", "create", "ada@example.org", "--organization"),
        *(team["organization_id"], "--password-file", str(tmp_path / "password")),
    )
    assert "at least 10 characters" in refused.stderr


def test_without_a_schema_the_next_step_is_told(typed: Typed) -> None:
    refused = typed("org", "list")
    assert refused.exit_code == 1
    assert "run `leyden migrate` first" in refused.stderr


def test_twenty_live_keys_are_enough(migrated: Typed) -> None:
    team = told(migrated("org", "create", "Harbour Light", "--json"))
    make = ("key", "create", "--organization", team["organization_id"], "--name", "k")
    for _ in range(20):
        assert migrated(*make).exit_code == 0
    assert "at most 20 live keys" in migrated(*make).stderr
