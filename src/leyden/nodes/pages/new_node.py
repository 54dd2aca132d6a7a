"""Creating a node."""

import uuid
from typing import Any

from starlette.responses import Response

from leyden.base.pages.visits import Visit, redirect
from leyden.base.rules.units import size
from leyden.base.settings import Settings
from leyden.errors import Malformed, Refused
from leyden.nodes import creation
from leyden.nodes.creation import NodeParameters
from leyden.nodes.pages import setting_descriptions
from leyden.nodes.pages.fleet import fleet_of
from leyden.nodes.rules.nodes import Network, NodeType


async def ask(visit: Visit) -> Response:
    """Show the form for a new node, with the visitor's address allowed."""
    return _form(
        visit,
        {
            **setting_descriptions.suggested(
                listen=bool(fleet_of(visit).rules.peer_ports)
            ),
            **dict.fromkeys(("name", "network", "type", "version"), ""),
            "whitelist": visit.address,
            "once": str(uuid.uuid4()),
        },
    )


async def create(visit: Visit) -> Response:
    """Create the node, once even if sent twice, and redirect to its page."""
    form = visit.form
    try:
        made = await creation.create(
            fleet_of(visit),
            visit.organization_id,
            _wish(visit),
            key=form.key("once"),
            actor=visit.user.actor,
            now=visit.now,
        )
    except Refused as error:
        values = setting_descriptions.shown(setting_descriptions.settings(form)) | {
            name: form.text(name)
            for name in ("name", "network", "type", "version", "whitelist", "once")
        }
        return _form(visit, values, wrong=error)
    return redirect(f"{visit.root}/nodes/{made.id}")


def _wish(visit: Visit) -> NodeParameters:
    form = visit.form
    settings = setting_descriptions.settings(form)
    return NodeParameters(
        name=form.text("name"),
        network=_one_of(Network, form.text("network"), "network"),
        type=_one_of(NodeType, form.text("type"), "type"),
        version=form.text("version") or None,
        settings={
            **settings,
            "alias": settings["alias"] or form.text("name")[:32],
            "whitelist": setting_descriptions.addresses(form.text("whitelist")),
        },
    )


def _one_of(kind: Any, word: str, name: str) -> Any:
    try:
        return kind(word)
    except ValueError:
        raise Malformed(f"{name}: must be one of {', '.join(kind)}") from None


def _size(settings: Settings, type_: NodeType) -> str:
    """Return what a node of this size gets: `1 GiB memory, 1 CPU`."""
    memory = size(getattr(settings, f"{type_}_memory_mb") << 20)
    cpus = getattr(settings, f"{type_}_cpus")
    return f"{memory} memory, {cpus} CPU{'' if cpus == 1 else 's'}"


def _form(
    visit: Visit, values: dict[str, str], wrong: Refused | None = None
) -> Response:
    rules, settings = fleet_of(visit).rules, visit.platform.settings
    first, *more = setting_descriptions.parts(listen=bool(rules.peer_ports))
    return visit.render(
        "nodes/new.html",
        first=first,
        more=more,
        values=values,
        networks=[each for each in Network if each in rules.networks],
        types={each: _size(settings, each) for each in NodeType},
        has_private_chain=settings.has_private_chain,
        testnet_chain=settings.testnet_chain,
        catalogue=rules.catalogue,
        refused=wrong,
    )
