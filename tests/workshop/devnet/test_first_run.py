"""dev.json: who is in it, and several processes that have something to add to it."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leyden.app.migration import migrate
from leyden.base import settings
from leyden.base.opening import opened
from leyden.base.platform import Platform
from leyden.people import accounts, api_keys, passwords
from leyden_workshop.devnet import first_run

EACH = 100
# They wait for one another, so that they begin in the same moment.
ADDS = """
import sys
from pathlib import Path
from leyden_workshop.devnet import first_run
home, name, each = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(each):
    first_run.write(home, {f"{name} {number}": number})
"""


def test_two_processes_that_add_fields_at_once_lose_none(tmp_path: Path) -> None:
    names = ("harbour", "lighthouse")
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", ADDS, str(tmp_path), name, str(EACH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for each in begun:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in begun:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in begun:
        each.communicate(timeout=60)
    assert [each.returncode for each in begun] == [0, 0]
    expected = {f"{name} {at}": at for name in names for at in range(EACH)}
    assert first_run.read(tmp_path) == expected
    assert (tmp_path / first_run.FILE).stat().st_mode & 0o777 == 0o600


@pytest.fixture
async def platform(memory_path: Path) -> AsyncIterator[Platform]:
    """An empty home, as `leyden up` opens it."""
    given = settings.load({"LEYDEN_HOME": str(memory_path)})
    migrate(given)
    async with opened(given) as platform:
        yield platform


async def organizations(platform: Platform) -> list[str]:
    return [each.name for each in await platform.database.reader.accounts.list_()]


async def can_sign_in(platform: Platform, login: dict[str, str]) -> bool:
    found = await platform.database.reader.people.password(login["email"])
    assert found is not None
    return await passwords.is_right(login["password"], found[1])


async def test_accounts_of_a_home_are_created_once(platform: Platform) -> None:
    made = await first_run.ensure_accounts(platform)
    assert await first_run.ensure_accounts(platform) == made
    assert await organizations(platform) == [first_run.TEAM]
    assert await can_sign_in(platform, made["dashboard_login"])


async def test_a_restored_home_keeps_its_owner_and_organization(
    platform: Platform,
) -> None:
    before = await first_run.ensure_accounts(platform)
    (platform.settings.home_path / first_run.FILE).unlink()  # no backup has it
    after = await first_run.ensure_accounts(platform)
    assert after["organization_id"] == before["organization_id"]
    assert after["dashboard_login"]["email"] == before["dashboard_login"]["email"]
    assert await can_sign_in(platform, after["dashboard_login"])
    assert await organizations(platform) == [first_run.TEAM]
    for field in ("api_key", "flow_key"):
        found = await api_keys.authenticate(
            platform, after[field], now=platform.clock()
        )
        assert found.organization_id == before["organization_id"]


async def test_a_home_whose_keys_were_revoked_gets_new_ones_for_its_organization(
    platform: Platform,
) -> None:
    before = await first_run.ensure_accounts(platform)
    first_run.write(platform.settings.home_path, {"api_key": "revoked"})
    after = await first_run.ensure_accounts(platform)
    assert after["dashboard_login"] == before["dashboard_login"]
    assert after["organization_id"] == before["organization_id"]
    assert after["api_key"] not in ("revoked", before["api_key"])
    assert await organizations(platform) == [first_run.TEAM]


async def test_scenarios_have_an_organization_of_their_own(platform: Platform) -> None:
    team = await first_run.ensure_accounts(platform)
    account = await first_run.ensure_scenarios(platform)
    assert await first_run.ensure_scenarios(platform) == account
    assert account.organization_id != team["organization_id"]
    found = await api_keys.authenticate(platform, account.api_key, now=platform.clock())
    assert found.organization_id == account.organization_id
    owner = await accounts.get_person(platform, team["dashboard_login"]["email"])
    belongings = await platform.database.reader.people.memberships(owner.id)
    assert [each.organization.name for each in belongings] == [
        first_run.TEAM,
        first_run.SCENARIOS,
    ]


async def test_a_restored_home_keeps_the_organization_of_its_scenarios(
    platform: Platform,
) -> None:
    team = await first_run.ensure_accounts(platform)
    before = await first_run.ensure_scenarios(platform)
    (platform.settings.home_path / first_run.FILE).unlink()
    again = await first_run.ensure_accounts(platform)
    assert again["organization_id"] == team["organization_id"]
    after = await first_run.ensure_scenarios(platform)
    assert after.organization_id == before.organization_id
    assert await organizations(platform) == [first_run.TEAM, first_run.SCENARIOS]
