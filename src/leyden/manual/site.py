"""Serving the API reference and the guides: the same for everyone, rendered once."""

import asyncio
import gzip
from collections.abc import Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from leyden.base import guides
from leyden.base.http.operations import Table
from leyden.base.http.responses import answer
from leyden.base.pages.assets import assets
from leyden.base.pages.origins import Origins, security_headers
from leyden.base.settings import Settings
from leyden.base.settings.reading import words
from leyden.errors import SetupError
from leyden.manual import reference, table, wheel
from leyden.manual.markdown import code, render, slug

Scope = MutableMapping[str, Any]
_ROOT: Final = "/docs"
_HTML: Final = "text/html; charset=utf-8"
_PLAIN: Final = "text/plain; charset=utf-8"
_MARKDOWN: Final = ".md"  # after a guide's name: as it was written, for programs
_LLMS: Final = "llms.txt"
_ABOUT: Final = """\
# Leyden

> Hosted Lightning nodes (lnd) and inbound channels, over an HTTP API with JSON.

- [OpenAPI 3.1]({origin}/openapi.json): every operation, field, event and error
- [What this platform offers]({origin}/platform): networks, sizes, prices; needs a key

Send an API key as `Authorization: Bearer KEY`. Send an `Idempotency-Key` with what
creates or pays. Decide by the `code` of an error. Amounts are whole satoshis. Seeds
and macaroons are encrypted by their owner before they are stored: never send them in
clear."""
_FOUND, _MOVED, _MISSING, _NOT_ALLOWED = 200, 301, 404, 405
_RENAMED: Final = {"direct-channels": "channels"}
_WHEEL: Final = "$LEYDEN_URL/docs/leyden-VERSION-py3-none-any.whl"  # as guides say it
_NOWHERE: Final = "?"  # no guide has this name
_NOT_FOUND: Final = "# Page not found\n\nSee the [documentation](README.md)."


def is_manual(path: str) -> bool:
    """Return whether a path belongs to the reference or the guides."""
    return path in {_ROOT, f"/{_LLMS}"} or path.startswith(f"{_ROOT}/")


class Manual:
    """ASGI application for everything at /docs, and for /llms.txt."""

    def __init__(
        self,
        operations: Table,
        settings: Settings,
        *,
        version: str,
        origins: Sequence[str],
    ) -> None:
        self._operations = operations
        self._version = version
        self._published = _published(settings)
        self._origin = origins[0]
        self._origins = Origins(origins)
        self._protection = security_headers(settings)
        self._responses: dict[str, _Response] = {}
        self._making = asyncio.Lock()  # waiting for it takes no thread

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Handle one request."""
        del receive
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        sent = {**self._protection, **self._origins.protection(host)}
        sent.pop("cache-control")  # every whole answer says it already
        if scope["method"] not in {"GET", "HEAD"}:
            sent["allow"] = "GET, HEAD"
            await answer(scope, send, _NOT_ALLOWED, _raw(sent), b"")
            return
        name = scope["path"].removeprefix(_ROOT).removeprefix("/")
        if name in _RENAMED:
            sent["location"] = table.url(_RENAMED[name])
            await answer(scope, send, _MOVED, _raw(sent), b"")
            return
        response = self._responses.get(name)
        if response is None:
            async with self._making:
                response = self._responses.get(name)
                if response is None:
                    # Beside the event loop: the reference takes a quarter of a second.
                    response = await asyncio.to_thread(self._find, name)
        body = response.body
        sent |= {"content-type": response.type, "vary": "accept-encoding"}
        if b"gzip" in headers.get(b"accept-encoding", b""):
            body = response.packed
            sent["content-encoding"] = "gzip"
        await answer(scope, send, response.status, _raw(sent), body)

    def _find(self, name: str) -> "_Response":
        """Return what is kept under a name: a guide, the wheel, or that there is none.

        Only names of guides are kept, so that strangers fill no memory.
        """
        guide = name.removesuffix(_MARKDOWN) or table.HOME
        if name in {wheel.NAME, _LLMS}:
            text = ""
        elif table.is_served(guide, self._published):
            text = guides.read(guide)
        else:
            name, text = _NOWHERE, _NOT_FOUND
        if name not in self._responses:
            self._responses[name] = self._made(name, text)
        return self._responses[name]

    def _made(self, name: str, text: str) -> "_Response":
        if name == wheel.NAME:
            return _Response(_FOUND, "application/octet-stream", wheel.wheel())
        if name == _LLMS:
            return _Response(_FOUND, _PLAIN, self._for_agents().encode())
        status = _MISSING if name == _NOWHERE else _FOUND
        text = text.replace(_WHEEL, f"{self._origin}{_ROOT}/{wheel.NAME}")
        if name.endswith(_MARKDOWN):
            return _Response(status, "text/markdown; charset=utf-8", text.encode())
        page = self._rendered(name or table.HOME, text)
        return _Response(status, _HTML, page.encode())

    def _for_agents(self) -> str:
        """Return the index of the guides as llmstxt.org has it."""
        lines = [_ABOUT.format(origin=self._origin)]
        for group, entries in table.navigation(self._published).items():
            lines += ["", f"## {group}", ""]
            lines += [
                f"- [{each.title}]({self._origin}{each.url}{_MARKDOWN})"
                for each in entries
            ]
        return "\n".join(lines) + "\n"

    def _rendered(self, name: str, text: str) -> str:
        if name == table.REFERENCE:
            return self._templates.get_template("reference.html").render(
                name=name,
                introduction=reference.introduction(),
                chapters=reference.chapters(),
                groups=reference.groups(self._operations, version=self._version),
            )
        return self._templates.get_template("guide.html").render(
            name=name,
            title=text.partition("\n")[0].removeprefix("# "),
            content=render(
                text, page="" if name == _NOWHERE else name, published=self._published
            ),
        )

    @cached_property
    def _templates(self) -> Environment:
        made = Environment(
            loader=PackageLoader("leyden.manual", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        made.filters.update(code=code, slug=slug)
        made.globals.update(
            asset=assets().url,
            navigation=table.navigation(self._published),
            version=self._version,
            origin=self._origin,
        )
        return made


def _published(settings: Settings) -> tuple[str, ...]:
    """Return the names of operators' guides that customers may read, too."""
    names = words(settings.docs_published)
    for name in names:
        if table.is_served(name, ()) or not table.is_served(name, names):
            raise SetupError(f"docs_published: {name} is no guide for operators")
    return names


class _Response:
    """An answer, plain and packed."""

    def __init__(self, status: int, content_type: str, body: bytes) -> None:
        self.status, self.type, self.body = status, content_type, body
        self.packed = gzip.compress(body, mtime=0)


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]
