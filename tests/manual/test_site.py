"""Everybody may read: the reference, the guides, and the library to install."""

import asyncio
import gzip
import re
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from leyden.app.endpoints import OPERATIONS
from leyden.base.http.operations import Table
from leyden.base.pages.assets import Assets
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.manual import table, wheel
from leyden.manual.site import Manual
from tests.base.api.conftest import Caller
from tests.manual.conftest import ORIGIN

ROOT = Path(__file__).parents[2]
CUSTOMERS, OPERATORS = ROOT / "docs" / "customers", ROOT / "docs" / "operators"
GUIDES = sorted(page.stem for page in CUSTOMERS.glob("*.md") if page.stem != table.HOME)
OTHERS = sorted(page.stem for page in OPERATORS.glob("*.md") if page.stem != table.HOME)
LIMIT = 600 * 1024


def publisher(names: list[str]) -> Caller:
    """Return a reader of a platform whose operator publishes these guides."""
    settings = Settings(docs_published=", ".join(names))
    manual = Manual(Table(OPERATIONS), settings, version="0.1.0", origins=[ORIGIN])
    return Caller(manual, None, "")  # type: ignore[arg-type]


async def _page(reader: Caller, path: str) -> str:
    answer = await reader.get(path)
    assert answer.status == 200, path
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.body.decode()


async def test_programs_read_the_guides_as_they_were_written() -> None:
    reader = publisher(["lsps1"])
    index = await reader.get("/llms.txt")
    assert index.headers["content-type"] == "text/plain; charset=utf-8"
    text = index.body.decode()
    assert text.startswith("# Leyden\n\n> ")
    linked = re.findall(rf"\]\({ORIGIN}/docs/([\w-]+)\.md\)", text)
    assert sorted(linked) == sorted([*GUIDES, "lsps1"])
    for name in linked:
        answer = await reader.get(f"/docs/{name}.md")
        assert answer.status == 200, name
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.body.startswith(b"# ")
    for name in ("backups", "../secrets", "nothing"):
        assert (await reader.get(f"/docs/{name}.md")).status == 404


def test_every_guide_is_in_the_navigation_once() -> None:
    named = [each.name for group in table.navigation().values() for each in group]
    assert sorted(named) == GUIDES


def test_no_two_guides_have_one_name() -> None:
    assert not set(GUIDES) & set(OTHERS)


@pytest.mark.parametrize("published", [[], ["lsps1", "quotas"], OTHERS])
async def test_every_link_leads_to_a_page_and_a_place_on_it(
    published: list[str],
) -> None:
    reader = publisher(published)
    paths = ["/docs", *(f"/docs/{name}" for name in [*GUIDES, *published])]
    pages = {path: await _page(reader, path) for path in paths}
    for path, page in pages.items():
        for href in re.findall(r'href="([^"]+)"', page):
            to, anchor = urldefrag(href)
            if to.startswith(("http", "/app/", "/openapi.json")):
                continue
            target = pages[to or path]
            assert not anchor or f' id="{anchor}"' in target, (path, href)


async def test_customers_are_shown_what_is_theirs(reader: Caller) -> None:
    for name in [*OTHERS, "decisions/README", "operators/README", "architecture"]:
        assert (await reader.get(f"/docs/{name}")).status == 404, name


def test_pages_of_the_dashboard_link_to_guides_that_are_served() -> None:
    for template in (ROOT / "src" / "leyden").rglob("*.html"):
        for name in re.findall(r'"/docs/([\w-]+)', template.read_text()):
            assert name in GUIDES, template.name


def test_guides_name_no_decision_and_no_test() -> None:
    for page in [*CUSTOMERS.glob("*.md"), *OPERATORS.glob("*.md")]:
        assert not re.search(r"\b(decisions|tests)/", page.read_text()), page.name


async def test_a_guide_that_moved_is_found(reader: Caller) -> None:
    answer = await reader.get("/docs/direct-channels")
    assert (answer.status, answer.headers["location"]) == (301, "/docs/channels")


async def test_operators_publish_guides() -> None:
    reader = publisher(["quotas"])
    assert "orgs quotas" in await _page(reader, "/docs/quotas")
    assert '<a href="/docs/quotas">Quotas</a>' in await _page(reader, "/docs")
    assert (await reader.get("/docs/backups")).status == 404


@pytest.mark.parametrize("name", ["nowhere", "api", "README", "../quotas"])
def test_what_is_no_guide_for_operators_is_not_published(name: str) -> None:
    with pytest.raises(SetupError, match="docs_published"):
        publisher([name])


async def test_every_operation_is_in_the_reference(reader: Caller) -> None:
    page = await _page(reader, "/docs/api")
    for operation in OPERATIONS:
        assert f'<section class="operation" id="{operation.name}"' in page
    assert page.count("data-language=") == 3 * len(OPERATIONS)


async def test_the_reference_is_light(reader: Caller) -> None:
    """With all that it loads, before anything is compressed."""
    page = await _page(reader, "/docs/api")
    loaded = re.findall(r'(?:href|src)="(/app/static/[^"]+)"', page)
    assert len(loaded) == 6
    assets = Assets()
    sizes = [
        len(assets.answer(*url.split("/", 4)[3:], packed=False).body) for url in loaded
    ]
    assert len(page.encode()) + sum(sizes) < LIMIT


async def test_pages_are_protected_as_the_dashboard_is(reader: Caller) -> None:
    for path in ("/docs", "/docs/api", "/docs/nowhere"):
        answer = await reader.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert " style=" not in answer.body.decode()
        assert "<script>" not in answer.body.decode()


async def test_who_can_read_gzip_is_sent_less(reader: Caller) -> None:
    plain = await reader.get("/docs/api")
    packed = await reader.get("/docs/api", accept_encoding="gzip, br")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) * 5 < len(plain.body)


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nowhere",
        "/docs/../../pyproject",
        "/docs/customers/api",
        "/docs/pictures/node.png",
        "/docs/nowhere.md",
        "/docs/api/",
        "/docs//etc/passwd",
        "/docs/?",
        f"/docs/{'x' * 200}",
    ],
)
async def test_what_is_no_page_is_not_found(reader: Caller, path: str) -> None:
    answer = await reader.get(path.replace("?", "%3F"))
    assert answer.status == 404
    assert "Page not found" in answer.body.decode()


async def test_strangers_fill_no_memory(reader: Caller) -> None:
    _kept = reader.api._responses  # type: ignore[attr-defined]
    await reader.get("/docs/nowhere")
    before = len(_kept)
    for number in range(20):
        await reader.get(f"/docs/nowhere-{number}")
    assert len(_kept) == before


async def test_a_page_that_many_ask_for_at_once_is_made_once() -> None:
    manual = Manual(Table(OPERATIONS), Settings(), version="0.1.0", origins=[ORIGIN])
    reader = Caller(manual, None, "")  # type: ignore[arg-type]
    answers = await asyncio.gather(*(reader.get("/docs/webhooks") for _ in range(8)))
    assert {each.status for each in answers} == {200}
    assert len({id(each.body) for each in answers}) == 1, "what was made is sent to all"


async def test_pages_are_read_and_not_written(reader: Caller) -> None:
    answer = await reader.post("/docs/api", {})
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    head = await reader.call("HEAD", "/docs/api")
    assert (head.status, head.body) == (200, b"")


async def test_the_command_is_served_where_the_guides_say(reader: Caller) -> None:
    answer = await reader.get(f"/docs/{wheel.NAME}")
    assert (answer.status, answer.body) == (200, wheel.wheel())
    for name in ("python", "api-quickstart", "install-the-command"):
        page = (await reader.get(f"/docs/{name}")).body.decode()
        assert f" install &quot;{ORIGIN}/docs/{wheel.NAME}&quot;" in page
