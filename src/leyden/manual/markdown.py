"""Markdown as HTML: tables, links between guides, and no HTML of the text's own."""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

from leyden.base import guides
from leyden.manual import table

_SCROLLS: Final = '<div class="wide" tabindex="0" role="region" aria-label="Table">'
_ELSEWHERE: Final = re.compile(r"https?://")


class _Renderer(RendererHTML):
    """Blocks that are wider than the window scroll by themselves, also by keyboard."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Render a code block."""
        del options, env
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: Any, env: Any
    ) -> str:
        """Open a table, and what it scrolls in."""
        del tokens, idx, options, env
        return f"{_SCROLLS}<table>\n"

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: Any, env: Any
    ) -> str:
        """Close a table."""
        del tokens, idx, options, env
        return "</table></div>\n"


_PARSER: Final = (
    MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
    .enable("table")
    .disable("image")
)


def render(text: str, *, page: str = "", published: Collection[str] = ()) -> str:
    """Return the text as HTML; its links are relative to the guide named `page`.

    Links to what is not served, as the operator publishes it, become text.
    """
    tokens = _PARSER.parse(text)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", slug(inline.content))
    for token in tokens:
        if token.children:
            token.children = list(_linked(token.children, page, published))
    html: str = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return html


def code(text: str) -> Markup:
    """Return one line of text as HTML, with `code` where it is marked as such."""
    return Markup(_PARSER.renderInline(text))  # noqa: S704  HTML in it is escaped


def slug(heading: str) -> str:
    """Return the anchor of a heading, as repository hosts make it."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def _linked(
    tokens: Sequence[Token], page: str, published: Collection[str]
) -> Iterator[Token]:
    """Lead links to where the guides are served; leave out those to other files."""
    is_open = True
    for token in tokens:
        if token.type == "link_open":
            to = _address(str(token.attrGet("href") or ""), page, published)
            is_open = to is not None
            token.attrSet("href", to or "")
        if is_open or token.type not in {"link_open", "link_close"}:
            yield token


def _address(href: str, page: str, published: Collection[str]) -> str | None:
    if _ELSEWHERE.match(href) or href.startswith("#"):
        return href
    path, hash_, anchor = href.partition("#")
    folder = posixpath.dirname(guides.find(page or table.HOME))
    target = posixpath.normpath(posixpath.join(folder, path.removesuffix(".md")))
    name = posixpath.basename(target)
    if not table.is_served(name, published) or guides.find(name) != target:
        return None
    return f"{table.url(name)}{hash_}{anchor}"
