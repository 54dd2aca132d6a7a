"""What may be asked without a key: health, the OpenAPI document, the page about it."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from html import escape
from string import Template

import msgspec

from leyden.api.app import Api
from leyden.api.challenges import PREFIX, Challenges
from leyden.api.gateways import PATH, Gateways
from leyden.api.openapi import document, refusals
from leyden.api.operations import Operation
from leyden.api.reading import Receive, Scope, Send
from leyden.api.whole import answer
from leyden.errors import Away
from leyden.services.platform import Platform

Answer = tuple[int, bytes, bytes]  # status, content type, body
_JSON = b"application/json"
_HTML = b"text/html; charset=utf-8"
_SECURITY = [
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Leyden API</title>
<style>
:root { color-scheme: light dark; --line: #8885; --soft: #8882; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 52rem;
       padding: 1rem; }
code, pre { font: .9rem/1.4 ui-monospace, monospace; }
pre { background: var(--soft); overflow-x: auto; padding: .75rem; }
section { border-top: 1px solid var(--line); padding: .5rem 0 1rem; }
h2 { font-size: 1rem; overflow-wrap: anywhere; }
h2 b { display: inline-block; min-width: 4rem; }
table { border-collapse: collapse; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
</style>
<h1>Leyden API</h1>
<p>Send an API key in <code>X-SERVICE-AUTH</code>. Bodies and answers are JSON; every
refusal is <code>{"message": "..."}</code>. HTTP/1.1 only. For machines:
<a href="/openapi.json">openapi.json</a>.</p>
<pre>curl -H "X-SERVICE-AUTH: $$LEYDEN_KEY" $$LEYDEN_URL/flow/coupons</pre>
<main>
$operations
</main>
</html>
""")


class Public:
    """Answers the paths that need no key, and hands the rest to the API."""

    def __init__(
        self,
        platform: Platform,
        api: Api,
        *,
        version: str,
        gateways: Gateways | None = None,
        challenges: Challenges | None = None,
    ) -> None:
        self._platform = platform
        self._challenges = challenges
        self._gateways = gateways
        self._api = api
        self._version = version
        self._pages: dict[str, Callable[[], Awaitable[Answer]]] = {
            "/health/live": self._live,
            "/health/ready": self._ready,
            "/openapi.json": self._openapi,
            "/docs": self._docs,
        }

    @cached_property
    def document(self) -> bytes:
        """The OpenAPI document; writing it takes longer than a start should."""
        described = document(self._api.table, version=self._version)
        return msgspec.json.format(msgspec.json.encode(described), indent=2)

    @cached_property
    def page(self) -> bytes:
        """The same for people."""
        return _PAGE.substitute(
            operations="\n".join(map(_section, self._api.table.operations))
        ).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._gateways is not None and scope["path"] == PATH:
            await self._gateways(scope, receive, send)
            return
        if self._challenges is not None and scope["path"].startswith(PREFIX):
            await self._challenges(scope, receive, send)
            return
        page = self._pages.get(scope["path"])
        if page is None or scope["method"] not in {"GET", "HEAD"}:
            await self._api(scope, receive, send)
            return
        status, content_type, body = await page()
        headers = [(b"content-type", content_type), *_SECURITY]
        await answer(scope, send, status, headers, body)

    async def _live(self) -> Answer:
        return 200, _JSON, b'{"status":"live"}'

    async def _ready(self) -> Answer:
        try:
            await self._platform.database.reader.accounts.reach()
        except Away as error:
            return 503, _JSON, msgspec.json.encode({"message": error.message})
        return 200, _JSON, b'{"status":"ready"}'

    async def _openapi(self) -> Answer:
        return 200, _JSON, self.document

    async def _docs(self) -> Answer:
        return 200, _HTML, self.page


def _section(operation: Operation) -> str:
    rows = "\n".join(
        f"<tr><td><code>{status}</code></td><td>{escape(words)}</td></tr>"
        for status, words in refusals(operation).items()
    )
    body = ""
    if operation.body is not None:
        _, parts = msgspec.json.schema_components([operation.body])
        schema = parts.get(operation.body.__name__, {})
        fields = msgspec.json.format(
            msgspec.json.encode(schema.get("properties", {})), indent=2
        ).decode()
        required = ", ".join(schema.get("required", ())) or "none"
        body = (
            f"<p>Body; required: <code>{escape(required)}</code></p>"
            f"<details><summary>Fields</summary><pre>{escape(fields)}</pre></details>"
        )
    return (
        f'<section id="{operation.name}"><h2><b>{operation.method}</b> '
        f"<code>{escape(operation.path)}</code></h2>"
        f"<p>{escape(operation.promise)}</p>{body}"
        f"<details><summary>Refusals</summary><table>{rows}</table></details></section>"
    )
