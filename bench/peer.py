"""The list and get endpoints as usually written: FastAPI, SQLAlchemy, Pydantic.

The same key check, the same rows and the same fields, over the same database, on our
own server. What it leaves out: limits, and noting when a key was used.
"""

import json
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel
from sqlalchemy import BigInteger, ForeignKey, create_engine, or_, select
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    joinedload,
    mapped_column,
    relationship,
    undefer,
)

from leyden.base.database.secrets import Sealer, load_keyring
from leyden.base.rules.times import from_us, to_iso, to_us, utc_now
from leyden.events.rows.subscriptions import webhook_secret_purpose
from leyden.nodes.launch_specs import settings_purpose
from leyden.nodes.rules import versions
from leyden.nodes.rules.versions import OFFERED, Version
from leyden.people.rules.keys import is_key
from leyden.schemas.node_settings import MASK

_SERVICE_VERSION = "0.1.0"
_CONNECTIONS = 40  # more than ask at once: nobody waits for one


class Base(DeclarativeBase):
    """The base class of the tables."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {int: BigInteger}


class Key(Base):
    """An API key."""

    __tablename__ = "api_key"
    id: Mapped[str] = mapped_column(primary_key=True)
    organization_id: Mapped[str]
    digest: Mapped[bytes]
    scopes: Mapped[str]
    expires: Mapped[int | None]
    revoked: Mapped[int | None]


class Node(Base):
    """A node."""

    __tablename__ = "node"
    id: Mapped[str] = mapped_column(primary_key=True)
    organization_id: Mapped[str]
    name: Mapped[str]
    status: Mapped[str]
    expires: Mapped[int | None]
    created: Mapped[int]
    type: Mapped[str]
    purchased_type: Mapped[str]
    purchase_status: Mapped[str]
    api_endpoint: Mapped[str]
    network: Mapped[str]
    version: Mapped[str]
    wanted: Mapped[str]
    process: Mapped[str]
    settings: Mapped[str] = mapped_column(deferred=True)
    launch_spec: Mapped["LaunchSpec"] = relationship()


class LaunchSpec(Base):
    """The secrets of a node."""

    __tablename__ = "node_outfit"
    node_id: Mapped[str] = mapped_column(ForeignKey("node.id"), primary_key=True)
    sealed_settings: Mapped[bytes]
    webhook_secret: Mapped[bytes]


class Command(Base):
    """A command to a node."""

    __tablename__ = "node_command"
    id: Mapped[int] = mapped_column(primary_key=True)
    node_id: Mapped[str] = mapped_column(ForeignKey("node.id"))
    action: Mapped[str]
    at: Mapped[int]


class NodeItem(BaseModel):
    """A node, as lists show it."""

    node_name: str
    status: str
    node_id: str
    expires: str
    created: str
    type: str
    purchased_type: str
    purchase_status: str
    api_endpoint: str
    network: str
    lnd_version: str
    service_version: str
    update_available: bool
    peer_address: str
    onion_address: str


class NodesAnswer(BaseModel):
    """An organization's nodes."""

    nodes: list[NodeItem]


class CommandItem(BaseModel):
    """A command to a node, in a response."""

    action: str
    time: str


class NodeAnswer(NodeItem):
    """A node with its settings."""

    command_history: list[CommandItem]
    settings: dict[str, Any]


def application(folder: Path, url: str) -> FastAPI:
    """Return the application that serves this installation.

    It asks the database on the event loop: in FastAPI's threads it takes longer, and so
    does SQLAlchemy's asyncio.
    """
    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), pool_size=_CONNECTIONS
    )
    sealer = Sealer(load_keyring(folder / "secrets.json"))
    app = FastAPI()

    async def session() -> AsyncIterator[Session]:
        with Session(engine) as opened:
            yield opened

    async def own(
        opened: Annotated[Session, Depends(session)],
        organization_id: str,
        x_service_auth: Annotated[str, Header()],
    ) -> str:
        digest = sealer.digest(x_service_auth.encode(), purpose="API key")
        key = opened.scalar(
            select(Key).where(
                Key.digest == digest,
                Key.revoked.is_(None),
                or_(Key.expires.is_(None), Key.expires > to_us(utc_now())),
            )
        )
        if not is_key(x_service_auth) or key is None:
            raise HTTPException(401, "this key is not known")
        if "node" not in key.scopes.split(","):
            raise HTTPException(403, "this key may not")
        if key.organization_id != organization_id:
            raise HTTPException(404, "not found")
        return organization_id

    in_sight = or_(Node.wanted != "deleted", Node.process != "")

    @app.get("/organizations/{organization_id}/nodes")
    async def list_nodes(
        opened: Annotated[Session, Depends(session)], of: Annotated[str, Depends(own)]
    ) -> NodesAnswer:
        found = opened.scalars(
            select(Node)
            .where(Node.organization_id == of, in_sight)
            .order_by(Node.created, Node.id)
        )
        return NodesAnswer(nodes=[NodeItem(**_item(node)) for node in found])

    @app.get("/organizations/{organization_id}/nodes/{node_id}")
    async def get_node(
        opened: Annotated[Session, Depends(session)],
        of: Annotated[str, Depends(own)],
        node_id: str,
    ) -> NodeAnswer:
        node = opened.scalar(
            select(Node)
            .where(Node.id == node_id, Node.organization_id == of, in_sight)
            .options(joinedload(Node.launch_spec), undefer(Node.settings))
        )
        if node is None:
            raise HTTPException(404, "not found")
        commands = opened.scalars(
            select(Command)
            .where(Command.node_id == node_id)
            .order_by(Command.id.desc())
            .limit(100)
        )
        return NodeAnswer(
            **_item(node),
            command_history=[
                CommandItem(action=each.action, time=to_iso(from_us(each.at)))
                for each in commands
            ],
            settings=_settings(sealer, node),
        )

    return app


def _item(node: Node) -> dict[str, Any]:
    return {
        "node_name": node.name,
        "status": node.status,
        "node_id": node.id,
        "expires": "never" if node.expires is None else to_iso(from_us(node.expires)),
        "created": to_iso(from_us(node.created)),
        "type": node.type,
        "purchased_type": node.purchased_type,
        "purchase_status": node.purchase_status,
        "api_endpoint": node.api_endpoint,
        "network": node.network,
        "lnd_version": node.version,
        "service_version": _SERVICE_VERSION,
        "update_available": _is_old(node.version),
        # This installation has neither peer ports nor Tor.
        "peer_address": "",
        "onion_address": "",
    }


@lru_cache
def _is_old(version: str) -> bool:
    return versions.update_available(Version.of(version), OFFERED)


def _settings(sealer: Sealer, node: Node) -> dict[str, Any]:
    stored = sealer.open(
        node.launch_spec.sealed_settings, purpose=settings_purpose(node.id)
    )
    secret = sealer.open(
        node.launch_spec.webhook_secret, purpose=webhook_secret_purpose(node.id)
    )
    has_macaroon = json.loads(stored).get("remotesigningmacaroon")
    return {
        **json.loads(node.settings),
        "remotesigningmacaroon": MASK if has_macaroon else "",
        "sphinx": False,
        "webhook_secret": secret.decode(),
    }
