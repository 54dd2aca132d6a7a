"""Descriptions of operations and fields, for people."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from leyden.base import guides
from leyden.base.http.operations import Operation
from leyden.base.rules.accounts import Scope
from leyden.events.rules.events import TYPES
from leyden.schemas.node_settings import TABLE

ABOUT: Final = """\
Hosted Lightning nodes and inbound channels, over HTTP/1.1 and JSON.

Send an API key in the header `X-SERVICE-AUTH`, or as a Bearer token. Amounts are whole
satoshis, times are ISO 8601 in UTC. An error has a `message` for people and a `code`
for programs. New fields may appear in responses: ignore those that you don't know.
"""


class Tag:
    """A group of operations, as the reference and generated clients show it."""

    def __init__(self, name: str, description: str) -> None:
        self.name, self.description = name, description


_TAGS: Final = {
    "keys": Tag(
        "Account",
        "Your key and its limits, and what the platform offers.",
    ),
    "nodes": Tag("Nodes", "Create Lightning nodes, start and stop them, connect."),
    "backups": Tag("Backups", "Store what you encrypted: seed and macaroons."),
    "events": Tag("Events", "Everything that happened, in order and replayable."),
    "webhooks": Tag("Webhooks", "Events of a node, and how they were delivered."),
    "flow": Tag("Channels and credit", "Order inbound channels; your money."),
}
_OPERATOR: Final = Tag("Operator", "What operators do; needs a key of theirs.")
# Operations of one tag in two modules.
_ALIKE: Final = {"quotas": "keys", "platform": "keys", "subscriptions": "events"}


def tag(operation: Operation) -> Tag:
    """Return the group that an operation belongs to."""
    if operation.scope is Scope.OPERATOR:
        return _OPERATOR
    module = operation.run.__module__.rpartition(".")[2]
    return _TAGS.get(_ALIKE.get(module, module), Tag(module, ""))


def tags(*, operators: bool = False) -> list[Tag]:
    """Return all groups, in the order of the reference; operators' is not in it."""
    return [*_TAGS.values(), *([_OPERATOR] if operators else ())]


def summary(operation: Operation) -> str:
    """Return an operation's title: the first line of its handler's docstring.

    Where code says that it returns something, people say that they get it.
    """
    line = operation.description.partition("\n\n")[0].rstrip(".")
    return re.sub("^Return ", "Get ", line)


def details(operation: Operation) -> str:
    """Return the Markdown about an operation that docs/customers/api.md has.

    About operators' there is what their docstrings have.
    """
    if operation.scope is Scope.OPERATOR:
        return operation.description.partition("\n\n")[2]
    return _sections().get(f"{operation.method} {operation.path}", "")


@cache
def _sections() -> dict[str, str]:
    """Return the prose of the API page: its examples are for one shell, in one row."""
    found = guides.chapters(guides.read("api"), level=3)
    return {
        heading: text.partition("\n```")[0].strip() for heading, text in found.items()
    }


def describe_events(components: Mapping[str, dict[str, Any]]) -> None:
    """Name the types of events, and give an example of each."""
    item = components["LoggedEvent"]
    item["properties"]["type"]["enum"] = list(TYPES)
    item["properties"]["data"]["examples"] = [
        dict(each.example) for each in TYPES.values()
    ]


def unite_events(components: dict[str, dict[str, Any]]) -> None:
    """Replace the shape of all events by a union of one for each type."""
    whole = components.pop("LoggedEvent")
    of_types = {}
    for kind, of in TYPES.items():
        name = "".join(each.title() for each in re.split("[._]", kind)) + "Event"
        of_types[kind] = f"#/components/schemas/{name}"
        data = {
            "type": "object",
            "description": of.about,
            "properties": {key: _typed(value) for key, value in of.example.items()},
            "required": list(of.example),
        }
        only = {"type": "string", "const": kind, "description": "What happened."}
        components[name] = {
            **whole,
            "title": name,
            "description": of.about,
            "properties": {**whole["properties"], "type": only, "data": data},
        }
    components["Event"] = {
        "description": "An event: what happened, in ids and facts.",
        "oneOf": [{"$ref": each} for each in of_types.values()],
        "discriminator": {"propertyName": "type", "mapping": of_types},
    }
    events = components["EventsAnswer"]["properties"]["events"]
    events["items"] = {"$ref": "#/components/schemas/Event"}


def _typed(value: str | int | list[str]) -> dict[str, Any]:
    if isinstance(value, list):
        return {"type": "array", "items": {"type": "string"}, "examples": [value]}
    kind = "integer" if isinstance(value, int) else "string"
    return {"type": kind, "examples": [value]}


def describe_settings(components: Mapping[str, dict[str, Any]]) -> None:
    """Describe the settings of nodes, wherever they are sent or answered."""
    shown = components["SettingsAnswer"]["properties"]
    for name in ("SettingsAnswer", "SettingsChange", "NewSettings"):
        for field, schema in components.get(name, {}).get("properties", {}).items():
            if field in TABLE:
                schema["description"] = TABLE[field].help
            else:
                schema["description"] = shown[field]["description"]
