"""Whatever page is added: strangers, other teams and other sites stay out of it."""

import re

import pytest

from leyden.app.page_table import PAGES
from leyden.app.serving.site import Site
from leyden.base.pages.visits import Page, Who
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Role
from leyden.base.rules.sign_in import RIGHTS, Right
from leyden.base.settings import Settings
from leyden.people import accounts
from tests.base.pages.conftest import person
from tests.base.pages.visitor import Visitor
from tests.channels.pages.test_channels import ONCE, ordered
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made

NOBODYS = "1c6d4e2f-8b55-4d4a-8b1f-1d2a3c8e0f66"
# Guarded by something else than who is there: the word of a link, a code, a password.
OPEN = [each for each in PAGES if each.needs is Who.ANYONE]
THEIRS = [each for each in PAGES if isinstance(each.needs, Right)]


@pytest.fixture
def settings() -> Settings:
    return Settings(requests_per_minute=10**6)


@pytest.fixture
def platform(selling: Platform) -> Platform:
    return selling


@pytest.fixture
async def ids(alice: Visitor, fleet_harness: FleetHarness) -> dict[str, str]:
    """What is Alice's, as paths call it."""
    node, order = await made(alice, fleet_harness), await ordered(alice)
    endpoint = {"url": "https://hooks.example/", "which": "all", "once": ONCE}
    endpoints = f"{alice.root}/events/endpoints"
    assert (await alice.submit(endpoints, endpoint)).status == 200
    return {
        "organization_id": alice.organization_id,
        "node_id": node.rpartition("/")[2],
        "order_id": order.rpartition("/")[2],
        "subscription_id": f"{ONCE}S",
    }


def _path(page: Page, ids: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: ids.get(found[1], NOBODYS), page.path)


async def _ask(visitor: Visitor, page: Page, path: str) -> tuple[int, str, str]:
    shown = await (visitor.submit(path) if page.method == "POST" else visitor.get(path))
    return shown.status, shown.location, shown.text


async def test_another_team_finds_none_of_them(
    charlie: Visitor, ids: dict[str, str]
) -> None:
    own = {"organization_id": charlie.organization_id}
    for page in THEIRS:
        status, _, text = await _ask(charlie, page, _path(page, ids))
        assert (status, text) == (404, (await charlie.get("/app/nowhere")).text), page
        # What is Alice's is not there below Charlie's own organization either.
        if any(name in page.path for name in ids if name != "organization_id"):
            found = await _ask(charlie, page, _path(page, {**ids, **own}))
            missing = await _ask(charlie, page, _path(page, own))
            assert found[0] in {400, 404}, page
            assert found[0] == missing[0], page


async def test_a_stranger_is_asked_to_sign_in_and_learns_nothing(
    nobody: Visitor, ids: dict[str, str]
) -> None:
    await nobody.get("/app/sign-in")
    for page in PAGES:
        if page in OPEN:
            continue
        for path in (_path(page, ids), _path(page, {})):
            status, location, _ = await _ask(nobody, page, path)
            assert (status, location.partition("?")[0]) == (303, "/app/sign-in"), page


async def test_a_role_does_what_it_may_and_no_more(
    alice: Visitor, site: Site, platform: Platform, ids: dict[str, str]
) -> None:
    for role in (Role.VIEWER, Role.BILLING, Role.DEVELOPER):
        theirs = alice.organization_id
        visitor = await person(platform, site, role.value, theirs, role)
        for page in THEIRS:
            if page.needs not in RIGHTS[role]:
                status, *_ = await _ask(visitor, page, _path(page, ids))
                assert status == 403, (role, page)


async def test_only_operators_find_the_operators_pages(
    alice: Visitor, ids: dict[str, str]
) -> None:
    for page in PAGES:
        if page.needs is Who.OPERATOR:
            assert (await _ask(alice, page, _path(page, ids)))[0] == 404, page


async def test_no_form_is_taken_from_elsewhere(
    alice: Visitor, charlie: Visitor, platform: Platform, ids: dict[str, str]
) -> None:
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )
    await alice.get("/app/account")
    await charlie.get("/app/account")
    posted = (each for each in PAGES if each.method == "POST")
    for page in (each for each in posted if not each.from_anywhere):
        path = _path(page, ids)
        for token in ("", charlie.token):
            assert (await alice.submit(path, {"token": token})).status == 403, page
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"origin": "http://["},
            {"origin": ""},
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},
        ):
            assert (await alice.submit(path, **headers)).status == 403, page
        unread = await alice.ask("POST", path, headers={"content_type": "text/plain"})
        assert unread.status == 415, page
    assert (await alice.get("/app/account")).status == 200


async def test_no_answer_can_be_framed_kept_or_guessed_at(
    alice: Visitor, ids: dict[str, str]
) -> None:
    for page in PAGES:
        if page.path.endswith("changes"):
            continue  # they go on for ever
        path = _path(page, ids)
        shown = await alice.ask(page.method, path)
        policy = shown.header("content-security-policy")
        for part in (
            "default-src 'none'",
            "script-src 'self';",
            "frame-ancestors 'none'",
        ):
            assert part in policy, page
        assert "unsafe" not in policy, page
        assert shown.header("x-frame-options") == "DENY", page
        assert shown.header("x-content-type-options") == "nosniff", page
        assert shown.header("cache-control") == "no-store", page
        assert shown.status < 500, page


async def test_no_address_or_query_breaks_a_page(
    alice: Visitor, ids: dict[str, str]
) -> None:
    queries: tuple[str, ...] = (
        "page=0",
        "page=x",
        "before=x",
        "before=1.x",
        "after=%27",
        "next=//x",
    )
    queries += ("done=%3Cscript%3E", "seen=" + "x" * 3_000, "page=" + "9" * 40)
    queries += ("before=9999999999999999999.x", "word=%F0%9F%98%80", "a=1&a=2")
    for page in (each for each in PAGES if each.method == "GET"):
        if page.path.endswith("changes"):
            continue
        for query in queries:
            shown = await alice.get(f"{_path(page, ids)}?{query}")
            assert shown.status < 500, (page, query)
            assert "<script>" not in shown.text
            assert not shown.location.startswith(("//", "http")), (page, query)


async def test_a_page_below_a_list_says_where_it_is(
    alice: Visitor, ids: dict[str, str]
) -> None:
    found = {}
    for page in (each for each in PAGES if each.method == "GET"):
        if not page.path.endswith("changes"):
            shown = (await alice.get(_path(page, ids))).text
            for crumbs in re.findall(r'<p class="[^"]*\bcrumbs">(.*?)</p>', shown):
                found[page.path] = " ".join(re.sub("<[^>]*>", " ", crumbs).split())
    assert {each.partition(" / ")[0] for each in found.values()} == {
        *("Nodes", "Channels", "Webhook endpoints", "Your account")
    }
    for path, crumbs in found.items():
        assert crumbs.partition(" / ")[2], (path, crumbs)


async def test_each_page_has_its_own_title(
    alice: Visitor, platform: Platform, ids: dict[str, str]
) -> None:
    await accounts.set_operator(
        platform, "alice@example.org", operator=True, actor="test"
    )
    titles: dict[str, set[str]] = {}
    for page in (each for each in PAGES if each.method == "GET"):
        if page.path.endswith("changes"):
            continue
        shown = await alice.get(_path(page, ids))
        if shown.status == 200 and (title := re.search("<title>(.*?)<", shown.text)):
            titles.setdefault(title[1], set()).add(page.path)
    assert {title: paths for title, paths in titles.items() if len(paths) > 1} == {}
