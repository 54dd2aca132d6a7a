"""Example requests in curl, Python and JavaScript."""

import json
import pprint
from typing import Any, Final
from urllib.parse import quote, urlencode

from msgspec import UNSET

from leyden.base.http.operations import Operation
from leyden.manual.examples import Example

_OWNER: Final = "organization_id"  # comes from the environment, as URL and key do


def path(operation: Operation, example: Example, owner: str) -> str:
    """Return the path and query of the example, with `owner` as the organization."""
    values = {name: quote(value, safe="") for name, value in example.path.items()}
    if _OWNER in values:
        values[_OWNER] = owner
    query = f"?{urlencode(example.query)}" if example.query else ""
    return operation.path.format(**values) + query


def curl(operation: Operation, example: Example) -> str:
    """Return the request as a command."""
    parts = [f'curl "$LEYDEN_URL{path(operation, example, "$LEYDEN_ORGANIZATION")}"']
    if operation.method != "GET" and (operation.method != "POST" or not _body(example)):
        parts[0] += f" -X {operation.method}"
    parts.append('-H "X-SERVICE-AUTH: $LEYDEN_KEY"')
    if operation.repeatable:
        parts.append('-H "Idempotency-Key: $(openssl rand -hex 16)"')
    if _body(example):
        parts.append('-H "Content-Type: application/json"')
        parts.append(f"-d '{_json(example.body)}'")
    return " \\\n  ".join(parts)


def python(operation: Operation, example: Example) -> str:
    """Return the request as Python, with the `requests` package."""
    owner = "{os.environ['LEYDEN_ORGANIZATION']}"
    url = f"{{os.environ['LEYDEN_URL']}}{path(operation, example, owner)}"
    headers = '"X-SERVICE-AUTH": os.environ["LEYDEN_KEY"]'
    modules = ["os"]
    if operation.repeatable:
        headers += ', "Idempotency-Key": str(uuid.uuid4())'
        modules.append("uuid")
    lines = [
        *(f"import {module}" for module in modules),
        "",
        "import requests",
        "",
        f"response = requests.{operation.method.lower()}(",
        f'    f"{url}",',
        f"    headers={{{headers}}},",
    ]
    if _body(example):
        body = pprint.pformat(example.body, sort_dicts=False, width=76)
        lines.append("    json=" + body.replace("\n", "\n         ") + ",")
    lines += ["    timeout=60,", ")", "response.raise_for_status()"]
    return "\n".join([*lines, "print(response.json())"])


def javascript(operation: Operation, example: Example) -> str:
    """Return the request as a JavaScript module, for Node.js."""
    url = path(operation, example, "${process.env.LEYDEN_ORGANIZATION}")
    lines = [f"const response = await fetch(`${{process.env.LEYDEN_URL}}{url}`, {{"]
    if operation.method != "GET":
        lines.append(f'  method: "{operation.method}",')
    lines += ["  headers: {", '    "X-SERVICE-AUTH": process.env.LEYDEN_KEY,']
    if operation.repeatable:
        lines.append('    "Idempotency-Key": crypto.randomUUID(),')
    if _body(example):
        lines.append('    "Content-Type": "application/json",')
    lines.append("  },")
    if _body(example):
        body = _json(example.body).replace("\n", "\n  ")
        lines.append(f"  body: JSON.stringify({body}),")
    return "\n".join(
        [
            *lines,
            "});",
            "if (!response.ok) throw new Error((await response.json()).message);",
            "console.log(await response.json());",
        ]
    )


def _body(example: Example) -> bool:
    return example.body is not UNSET


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
