"""The page that tells people of the API: the OpenAPI document, to be read."""

from collections.abc import Iterable
from html import escape
from string import Template

import msgspec

from leyden.api.openapi import refusals
from leyden.api.operations import Operation

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


def manual(operations: Iterable[Operation]) -> bytes:
    """Write the page."""
    return _PAGE.substitute(operations="\n".join(map(_section, operations))).encode()


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
