"""What the documentation says is there: endpoints, commands, files, links."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from leyden.app import renamed
from leyden.app.endpoints import OPERATIONS
from leyden.app.main import leyden
from leyden.base import guides
from leyden.base.daemons import catalogue
from leyden.base.http.connection_end import HTTP_CODES
from leyden.base.rules.accounts import Role, Scope
from leyden.base.rules.sign_in import RIGHTS, Right
from leyden.channels.direct import connection
from leyden.channels.payments import treasury
from leyden.channels.rules.orders import OrderStatus
from leyden.customer.claim.poold import ClaimPoold, access_for
from leyden.errors import every
from leyden.events.rules.events import TYPES
from leyden.manual.markdown import slug
from leyden.nodes.rules.nodes import NodeStatus
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.kubernetes.installation import OLDEST
from leyden.operators import attention
from leyden_workshop.devnet import access

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src" / "leyden", ROOT / "workshop" / "src" / "leyden_workshop")
CUSTOMERS, OPERATORS = ROOT / "docs" / "customers", ROOT / "docs" / "operators"
API = CUSTOMERS / "api.md"
ARCHITECTURE = ROOT / "docs" / "contributors" / "architecture.md"
TICKETS = CUSTOMERS / "tickets.md"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
INDEX = ROOT / "docs" / "decisions" / "README.md"
ALL_PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("[!.]*/README.md"),
        *ROOT.glob("deploy/*/README.md"),
        *(ROOT / "docs").rglob("*.md"),
    }
)
# What was superseded speaks of what is gone.
PAGES = [page for page in ALL_PAGES if "\nSuperseded by" not in page.read_text()]
# Other pages also name folders of an installation, or of an address.
FOR_DEVELOPERS = {
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", ARCHITECTURE),
    *DECISIONS,
}
FIVE = ["Context", "Decision", "Consequences", "Alternatives", "References"]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A quoted command may go on in the next line.
_INLINE = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_SUPERSEDED = re.compile(r"^Superseded by \[\d+\]\(\S+\)\.$", re.MULTILINE)
# Where a command begins: a line, a substitution, a pipe.
_COMMAND = re.compile(r"(?:^|\$\(|[|;&] )\s*(?:\./)?leyden\s+(.*)$", re.MULTILINE)
_TOP = (
    *("src/", "docs/", "tests/", "examples/", "bench/", "deploy/"),
    *("auctioneer/", "clients/", "companion/", "workshop/"),
)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


pages = pytest.mark.parametrize("page", PAGES, ids=_name)


def inline(page: Path) -> Iterator[str]:
    """Return what stands in backticks outside the blocks."""
    for found in _INLINE.findall(_BLOCK.sub("", page.read_text())):
        yield " ".join(found.split())


def commands(page: Path) -> Iterator[list[str]]:
    """Return the words after `leyden` of every command on a page."""
    text = page.read_text()
    shell = "\n".join(
        block for kind, block in _BLOCK.findall(text) if kind in {"sh", "text"}
    )
    shell = shell.replace("\\\n", " ")
    for found in _COMMAND.findall(shell):
        yield _words(found)
    for quoted in inline(page):
        if match := re.fullmatch(r"(?:\./)?leyden(?: (.+))?", quoted):
            yield _words(match[1] or "")


def _words(line: str) -> list[str]:
    """Split as a shell does, up to where the command ends."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("();<>|&"):
            break
        words.append(word)
    return words


def parse(words: list[str]) -> None:
    """Parse a command as click would, and run nothing."""
    command: click.Command = leyden
    context = click.Context(command, info_name="leyden")
    while isinstance(command, click.Group) and words and words[0][0] != "-":
        name, *words = words
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"there is no command {name}")
        command = found
        context = click.Context(
            command, parent=context, info_name=name, **command.context_settings
        )
    command.make_parser(context).parse_args(words)


def test_every_endpoint_is_told_of_and_no_other() -> None:
    answer = re.findall(r"^### (.+)$", API.read_text(), re.MULTILINE)
    assert sorted(answer) == sorted(f"{each.method} {each.path}" for each in OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_every_endpoint_has_an_example_that_calls_it(operation: object) -> None:
    each = next(known for known in OPERATIONS if known is operation)
    _, _, after = API.read_text().partition(f"### {each.method} {each.path}\n")
    section, _, _ = after.partition("\n### ")
    (example,) = (block for kind, block in _BLOCK.findall(section) if kind == "sh")
    ours = r"/nodes(?:/{node_id})?|/flow|/subscriptions(?:/{subscription_id})?"
    last = re.split(ours, each.path)[-1]
    ending = re.sub(r"{\w+}", "[^/]+", last)
    assert re.search(rf'"\S*{ending}[?"]', example)


def _table(heading: str) -> set[str]:
    """Return the first column of the table below a heading of the API's page."""
    _, _, after = API.read_text().partition(f"\n## {heading}\n")
    section, _, _ = after.partition("\n## ")
    rows = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)[1:]
    return {cell.strip("`") for row in rows for cell in row.split(", ")}


def test_the_rooms_are_drawn_as_the_linter_has_them() -> None:
    written = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = written["tool"]["importlinter"]["contracts"][0]["layers"]
    page = ARCHITECTURE.read_text()
    block = page.partition("\n## Rooms\n")[2].split("```\n")[1]
    drawn = [line.split("  ")[0] for line in block.splitlines() if line[0] != " "]
    names = [set(re.findall(r"\w+", each)) for each in drawn]
    assert names == [set(re.findall(r"\w+", each)) for each in layers]


def test_every_status_is_explained_and_no_other() -> None:
    assert _table("Node statuses") == {each.value for each in NodeStatus}
    assert _table("Order statuses") == {each.value for each in OrderStatus}


def test_every_code_of_an_error_has_its_section() -> None:
    coded = [each for each in every() if "error_code" in vars(each)]
    codes = [each.error_code for each in coded]
    assert len(codes) == len(set(codes))
    page = (CUSTOMERS / "errors.md").read_text()
    existing = page.partition("\n## Codes\n\n")[2].partition("\n## ")[0]
    written = [
        f"### {each.error_code}\n\nStatus {each.status}. {each.words} {each.remedy}\n"
        for each in sorted(coded, key=lambda each: each.status)
    ]
    assert existing == "\n".join(written), (
        "docs/customers/errors.md differs from errors.py"
    )
    anchors = {slug(each) for each in guides.chapters(page, level=3)}
    assert anchors >= {*codes, *HTTP_CODES.values()}


@pages
def test_every_command_exists_with_its_options(page: Path) -> None:
    for words in commands(page):
        if page.name == "CHANGELOG.md":  # it speaks of earlier releases, too
            words, _ = renamed.current(words)  # noqa: PLW2901
        try:
            parse(words)
        except click.ClickException as error:
            pytest.fail(f"leyden {' '.join(words)}: {error.format_message()}")


@pytest.mark.parametrize(
    "line", ["launch", "dev rain", "up --detatch", "dev fund -x 1"]
)
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    with pytest.raises(click.UsageError):
        parse(line.split())


def test_every_command_of_the_table_is_one() -> None:
    context = click.Context(leyden, info_name="leyden")
    for name in leyden.list_commands(context):
        assert isinstance(leyden.get_command(context, name), click.Command), name


def test_commands_are_found_wherever_they_stand(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "See `leyden status`, `./leyden up`, `leyden` and `leyden\ndown --nodes`.\n\n"
        "```sh\n"
        'eval "$(./leyden dev env)"   # a remark\n'
        "cd x && ./leyden dev fund \\\n  sb1p 7 > paid\n```\n"
    )
    assert sorted(commands(page)) == [
        [],
        ["dev", "env"],
        ["dev", "fund", "sb1p", "7"],
        ["down", "--nodes"],
        ["status"],
        ["up"],
    ]


def _poold_of_the_tests(folder: Path) -> list[str]:
    """Return the command by which tests start a buyer's poold beside a hosted node."""
    lnd = access.LndEndpoint(
        rest="",
        grpc="NAME:10009",
        peer="",
        certificate="platform.pem",
        macaroon="admin.macaroon",
    )
    return ClaimPoold(
        name="buyer",
        program=Path("poold"),
        folder=folder,
        chain="mainnet",
        access=access_for(folder, "mainnet", grpc=1, rest=2, lnd="NAME"),
        lnd=lnd,
        auctioneer="127.0.0.1:3",
    ).argv()


def test_a_buyer_starts_the_poold_that_the_tests_start(tmp_path: Path) -> None:
    """The same program, of the same version, with the same options."""
    text = TICKETS.read_text().replace("\\\n", " ")
    tested = _poold_of_the_tests(tmp_path)
    own, hosted = (
        shlex.split(line)[1:] for line in re.findall(r"^poold .+$", text, re.MULTILINE)
    )
    assert set(hosted) <= set(tested)
    assert {option.partition("=")[0] for option in own} == {
        option.partition("=")[0] for option in hosted
    }
    tools, program = catalogue.find("poold")
    module = (tools.folder / "go.mod").read_text()
    (repository,) = re.findall(r"git clone https://(\S+)", text)
    assert f"{repository} v{program.version}" in module
    assert f"git checkout v{program.version}" in text


@pytest.mark.parametrize("page", ALL_PAGES, ids=_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text()):
        if link.startswith(("https://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        assert file.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", h).lower() for h in headings]
            assert anchor in [slug.replace(" ", "-") for slug in slugs], link


@pages
def test_every_table_has_a_heading(page: Path) -> None:
    """Without a heading and a rule below it, Markdown shows rows as a paragraph."""
    text = _BLOCK.sub("", page.read_text())
    for table in re.findall(r"(?:^ *\|.*\n?)+", text, re.MULTILINE):
        _, _, below = table.partition("\n")
        assert re.match(r" *(\| ?-+ ?)+\|\n", below), table[:80]


@pages
def test_every_file_that_is_named_exists(page: Path) -> None:
    for named in inline(page):
        if not re.fullmatch(r"[\w./-]+", named):
            continue
        files = (".py", ".md")
        folder = named.endswith("/") and named[0] != "/" and page in FOR_DEVELOPERS
        if not (named.startswith(_TOP) or named.endswith(files) or folder):
            continue
        folders = (ROOT, *SOURCES, page.parent)
        exists = any((each / named).exists() for each in folders)
        bare = "/" not in named[:-1]
        bare = bare and any(any(each.rglob(named)) for each in SOURCES)
        assert exists or bare, named


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_every_decision_has_the_five_headings(page: Path) -> None:
    title, *_ = page.read_text().splitlines()
    assert title.startswith(f"# {page.name[:4]}: ")
    assert re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE) == FIVE


def test_every_decision_is_in_the_index() -> None:
    """Those that another one has superseded as a whole are in a list of their own."""
    entry = re.compile(r"^- \[(\d+)\]\((.+)\): (.+)$", re.MULTILINE)
    for is_over, part in enumerate(INDEX.read_text().split("\n## Superseded\n")):
        listed = entry.findall(part)
        assert [(f"# {number}: {title}", name) for number, name, title in listed] == [
            (page.read_text().splitlines()[0], page.name)
            for page in DECISIONS
            if bool(_SUPERSEDED.search(page.read_text())) is bool(is_over)
        ]


@pytest.mark.parametrize(
    ("page", "name", "permissions"),
    [
        ("sell-channels.md", "treasury", treasury.PERMISSIONS),
        ("sell-channels.md", "seller", connection.PERMISSIONS),
        ("sell-channels.md", "buy", connection.BUYING_PERMISSIONS),
        ("just-in-time.md", "jit", connection.PURSE_PERMISSIONS),
    ],
)
def test_a_macaroon_is_baked_with_all_that_is_needed_and_no_more(
    page: str, name: str, permissions: tuple[str, ...]
) -> None:
    text = (OPERATORS / page).read_text()
    command = f"bakemacaroon --save_to {name}.macaroon"
    block = next(block for block in text.split("```") if command in block)
    assert sorted(re.findall(r"\w+:[\w./]+", block)) == sorted(permissions)


def test_every_reason_why_an_order_needs_attention_is_explained() -> None:
    page = " ".join((OPERATORS / "orders.md").read_text().split())
    for why in attention.WHY.values():
        what, *_ = re.split(r":|, and its price|, and you owe", why)
        assert f'"{what}"' in page


def test_every_role_is_explained() -> None:
    rows = re.findall(r"^\|(.+)\|$", (CUSTOMERS / "roles.md").read_text(), re.MULTILINE)
    cells = [
        [cell.strip() for cell in row.split("|")] for row in rows[: len(Right) + 2]
    ]
    (_, *names), _, *rights = cells
    assert names == [each.value for each in Role]
    for right, (_, *given) in zip(Right, rights, strict=True):
        may = ["yes" if right in RIGHTS[role] else "no" for role in Role]
        assert given == may, right


def test_the_support_matrix_names_what_is_supported() -> None:
    page = (OPERATORS / "support.md").read_text()
    assert ".".join(map(str, OLDEST)) in page
    for release in OFFERED.releases:
        assert str(release.version).strip("v").partition("-")[0] in page


def test_every_type_of_event_is_in_the_table() -> None:
    table = "| type | what happened | `data` | seen by keys with |\n|---|---|---|---|\n"
    for each in TYPES.values():
        scopes = " and ".join(f"`{scope}`" for scope in Scope if scope in each.scopes)
        data = json.dumps(each.example)
        table += f"| `{each.name}` | {each.about} | `{data}` | {scopes} |\n"
    assert table in (CUSTOMERS / "events.md").read_text(), table
