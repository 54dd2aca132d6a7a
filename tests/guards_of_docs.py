"""The guards of the reference and the guides; see mutations.py."""

from tests.guards import Guard

_SITE = "tests/manual/test_site.py"

GUARDS = (
    Guard(
        "a guide is found by its name alone",
        "guides.py",
        "if not _NAME.fullmatch(name) or not file.is_file():",
        "if not file.is_file():",
        _SITE,
        "no_page",
    ),
    Guard(
        "strangers' addresses are not kept",
        "manual/site.py",
        "name, text = _NOWHERE, _NOT_FOUND",
        "text = _NOT_FOUND",
        _SITE,
        "fill_no_memory",
    ),
    Guard(
        "a page that many ask for is made once",
        "manual/site.py",
        "async with self._making:",
        "async with asyncio.Lock():",
        _SITE,
        "made_once",
    ),
    Guard(
        "guides have no HTML of their own",
        "manual/markdown.py",
        '{"html": False}',
        '{"html": True}',
        "tests/manual/test_markdown.py",
        "no_html",
    ),
    Guard(
        "code in guides is text",
        "manual/markdown.py",
        "<code>{escape(tokens[idx].content)}</code>",
        "<code>{tokens[idx].content}</code>",
        "tests/manual/test_markdown.py",
        "no_html",
    ),
    Guard(
        "a request that changes something is confirmed",
        "web/static/manual.js",
        'if (method !== "GET" && !(await confirmed(`${method} ${path}`))) return;',
        "",
        "tests/web/test_manual.py",
        "searched_and_tried",
    ),
    Guard(
        "an answer promises only what is always there",
        "api/openapi.py",
        'if name in schema["required"] or each.pop("default", UNSET) is not UNSET',
        "",
        "tests/api/examples/test_examples.py",
        "fits_its_schema",
    ),
    Guard(
        "a read-only page takes no other method",
        "manual/site.py",
        'if scope["method"] not in {"GET", "HEAD"}:',
        "if False:",
        _SITE,
        "not_written",
    ),
)
