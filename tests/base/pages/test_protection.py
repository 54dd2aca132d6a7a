"""What a page of ours never lets another site, or another team, do."""

import asyncio
from functools import partial

import pytest

from leyden.app.front import dashboard
from leyden.app.serving.site import Site
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.settings import Settings
from leyden.people import accounts
from leyden.values import replace
from tests.away import AwayDatabase
from tests.base.pages.conftest import PASSWORD, person
from tests.base.pages.visitor import HOST, Visitor


async def test_no_page_holds_code_or_styles_or_asks_a_stranger(
    alice: Visitor, nobody: Visitor
) -> None:
    for visitor, path in ((alice, f"{alice.root}/nodes"), (nobody, "/app/sign-in")):
        text = (await visitor.get(path)).text
        assert "<style" not in text
        assert " style=" not in text
        assert " onclick=" not in text
        assert 'src="http' not in text
        assert 'href="http' not in text


async def test_a_form_from_nowhere_leads_to_the_first_page(nobody: Visitor) -> None:
    for referer in ("http://[", f"http://{HOST}:[/app/account", "nothing"):
        shown = await nobody.submit("/app/sign-out", referer=referer)
        assert (shown.status, shown.location) == (303, "/app/sign-in")


async def test_a_form_without_its_token_changes_nothing(
    alice: Visitor, charlie: Visitor
) -> None:
    for token in ("", "0" * 32, charlie.token, "ü"):
        refused = await alice.submit("/app/sign-out", {"token": token})
        assert refused.status == 403
    twice = await alice.submit("/app/sign-out", {"token": [alice.token, "other"]})
    assert twice.status == 400
    assert (await alice.get(f"{alice.root}/nodes")).status == 200


@pytest.mark.usefixtures("alice")
async def test_nobody_is_signed_in_by_another_site(nobody: Visitor) -> None:
    attacker = Visitor(nobody.site)
    await attacker.get("/app/sign-in")
    fields = {"email": "alice@example.org", "password": PASSWORD}
    await nobody.get("/app/sign-in")
    refused = await nobody.submit(
        "/app/sign-in", {**fields, "token": attacker.token}, host=HOST
    )
    assert refused.status == 403


async def test_another_team_sees_no_more_than_if_it_were_not_there(
    alice: Visitor, charlie: Visitor, nobody: Visitor
) -> None:
    foreign = await charlie.get(f"{alice.root}/nodes")
    missing = await charlie.get("/app/1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66/nodes")
    assert foreign.status == missing.status == 404
    assert foreign.text == missing.text
    assert (await nobody.get(f"{alice.root}/nodes")).status == 303


@pytest.mark.parametrize(
    "path", ["/app/%2e%2e/nodes", "/app/a%00b/nodes", "/app/x%2fy", "/app/é"]
)
async def test_a_disguised_address_is_none(alice: Visitor, path: str) -> None:
    assert (await alice.get(path)).status == 404


@pytest.mark.parametrize(
    "body",
    [
        b"token=%00",
        b"token=%ff",
        b"token=" + b"a" * 300_000,
        b"&".join(b"a=1" for _ in range(1_000)),
        b"\xff\xfe",
    ],
)
async def test_a_form_that_is_none_is_refused(alice: Visitor, body: bytes) -> None:
    refused = await alice.ask("POST", "/app/sign-out", body)
    assert refused.status in {400, 413}


async def test_a_form_as_json_is_refused(alice: Visitor) -> None:
    refused = await alice.ask(
        "POST", "/app/sign-out", b"{}", headers={"content_type": "application/json"}
    )
    assert refused.status == 415


async def test_styles_are_kept_until_they_change(nobody: Visitor) -> None:
    page = await nobody.get("/app/sign-in")
    start = page.text.index("/app/static/")
    url = page.text[start : page.text.index('"', start)]
    answer = await nobody.get(url)
    assert "immutable" in answer.header("cache-control")
    old = await nobody.get(url.replace(url.split("/")[3], "0123456789ab"))
    assert (old.status, "immutable" in old.header("cache-control")) == (200, False)
    for path in ("../site.py", "nothing.css", "vendor/htmx.LICENSE"):
        assert (await nobody.get(f"/app/static/x/{path}")).status == 404


async def test_a_form_that_takes_its_time_outlives_no_session(
    alice: Visitor, platform: Platform
) -> None:
    await alice.get(f"{alice.root}/team")
    alice.meanwhile = partial(
        accounts.readmit,
        platform,
        "alice@example.org",
        password="another lamp",
        keep_authenticator=True,
        actor="operator:test",
    )
    fields = {"email": "mallory@example.org", "role": "owner"}
    refused = await alice.submit(f"{alice.root}/team/invite", fields)
    assert (refused.status, refused.location) == (303, "/app/sign-in")
    reader = platform.database.reader
    now = platform.clock()
    assert not await reader.invitations.list_(alice.organization_id, now=now)


async def test_a_form_that_takes_its_time_outlives_no_role(
    alice: Visitor, site: Site, platform: Platform
) -> None:
    admin = await person(platform, site, "dora", alice.organization_id, Role.ADMIN)
    await admin.get(f"{admin.root}/team")
    dora = await platform.database.reader.accounts.find_person("dora@example.org")
    assert dora is not None
    await alice.get(f"{alice.root}/team")
    for path, fields, status in (
        ("role", {"user": dora.id, "role": "viewer"}, 403),
        ("remove", {"user": dora.id}, 404),
    ):
        admin.meanwhile = partial(alice.submit, f"{alice.root}/team/{path}", fields)
        body = {"email": "mallory@example.org", "role": "admin"}
        assert (await admin.submit(f"{admin.root}/team/invite", body)).status == status
        await alice.submit(
            f"{alice.root}/team/role", {"user": dora.id, "role": "admin"}
        )


@pytest.mark.parametrize("path", ["/app/", "/app/account", "/app/no/such/page"])
async def test_while_the_database_is_away_a_page_says_so(
    alice: Visitor, platform: Platform, path: str
) -> None:
    away = dashboard(replace(platform, database=AwayDatabase()), version="0.1.0")
    shown = await Visitor(away, cookies=dict(alice.cookies)).get(path)
    assert (shown.status, shown.header("retry-after")) == (503, "5")
    assert "The database is away or busy" in shown.text
    assert shown.header("x-frame-options") == "DENY"


async def test_behind_a_proxy_that_ends_tls_cookies_are_for_tls_alone(
    platform: Platform,
) -> None:
    answer = dashboard(platform, version="0.1.0", origins=[f"https://{HOST}"])
    shown = await Visitor(answer).get("/app/sign-in")
    assert shown.header("set-cookie").startswith("__Host-leyden-guest=")
    assert "Secure" in shown.header("set-cookie")
    assert shown.header("strict-transport-security") == "max-age=31536000"
    refused = await Visitor(answer).submit("/app/sign-out", origin=f"https://{HOST}")
    assert refused.header("strict-transport-security") == "max-age=31536000"


@pytest.mark.parametrize("origin", [f"http://{HOST}", "https://localhost:8000"])
async def test_without_tls_of_its_own_name_nothing_is_said_about_it(
    platform: Platform, origin: str
) -> None:
    answer = dashboard(platform, version="0.1.0", origins=[origin])
    shown = await Visitor(answer).get("/app/sign-in", host=origin.partition("//")[2])
    assert shown.header("strict-transport-security") == ""


async def test_others_do_not_wait_for_all_that_one_organization_asks(
    alice: Visitor, charlie: Visitor
) -> None:
    answered: list[str] = []

    async def ask(visitor: Visitor) -> None:
        assert (await visitor.get(f"{visitor.root}/nodes/new")).status == 200
        answered.append(visitor.root)

    await ask(charlie)  # which fills caches
    await asyncio.gather(*(ask(who) for who in [*[alice] * 20, charlie]))
    assert charlie.root in answered[1:10]


class TestLimits:
    @pytest.fixture
    def settings(self) -> Settings:
        return Settings(requests_per_minute=5)

    async def test_whoever_asks_too_often_has_to_wait_and_others_do_not(
        self, alice: Visitor, charlie: Visitor
    ) -> None:
        statuses = [(await alice.get(f"{alice.root}/nodes")).status for _ in range(5)]
        assert statuses == [200, 200, 200, 200, 429]  # one was asked for before
        waited = await alice.get("/app/account")
        assert (waited.status, "too many requests" in waited.text.lower()) == (
            429,
            True,
        )
        assert 1 <= int(waited.header("retry-after")) <= 12
        assert (await charlie.get(f"{charlie.root}/nodes")).status == 200

    async def test_people_of_an_organization_are_counted_together(
        self, platform: Platform, alice: Visitor, charlie: Visitor
    ) -> None:
        """Each stays within their own limit, and five get as much as all."""
        people = [
            await person(
                platform, alice.site, f"sailor{n}", alice.organization_id, Role.OWNER
            )
            for n in range(9)
        ]
        answer = [each.get(f"{each.root}/nodes/new") for each in people * 4]
        answers = [await each for each in answer]
        statuses = [each.status for each in answers]
        assert statuses[0] == 200
        assert statuses[-1] == 429
        assert "organization sends too many requests" in answers[-1].text
        assert (await charlie.get(f"{charlie.root}/nodes")).status == 200

    async def test_strangers_are_counted_by_their_address(
        self, nobody: Visitor
    ) -> None:
        statuses = [(await nobody.get("/app/sign-in")).status for _ in range(6)]
        assert statuses == [200, 200, 200, 200, 200, 429]
        elsewhere = Visitor(nobody.site, address="203.0.113.9")
        assert (await elsewhere.get("/app/sign-in")).status == 200
