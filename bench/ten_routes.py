"""A usual application: FastAPI, SQLAlchemy, Alembic, ten routes.

    python -m bench.ten_routes FOLDER PORT

Before it serves, it sees that its database has the newest revision. It has three
tables, answers from SQLite, and does nothing else: no background work, no pages.
"""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import uvicorn
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from fastapi import APIRouter, Depends, FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict
from sqlalchemy import ForeignKey, create_engine, select
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    relationship,
    sessionmaker,
)

_ENV = """
from alembic import context
from bench.ten_routes import Base
from sqlalchemy import create_engine

with create_engine(context.config.get_main_option("sqlalchemy.url")).begin() as found:
    context.configure(connection=found, target_metadata=Base.metadata)
    context.run_migrations()
"""
_FIRST = """
revision, down_revision = "0001", None

def upgrade():
    from alembic import op
    from bench.ten_routes import Base
    Base.metadata.create_all(op.get_bind())
"""


class Base(DeclarativeBase):
    """The base class of the tables."""


class Team(Base):
    """A team."""

    __tablename__ = "team"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    nodes: Mapped[list["Node"]] = relationship(back_populates="team")


class Node(Base):
    """A node of a team."""

    __tablename__ = "node"
    id: Mapped[int] = mapped_column(primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    name: Mapped[str]
    status: Mapped[str] = mapped_column(default="running")
    team: Mapped[Team] = relationship(back_populates="nodes")


class Order(Base):
    """An order of a team."""

    __tablename__ = "purchase"
    id: Mapped[int] = mapped_column(primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    sats: Mapped[int]
    status: Mapped[str] = mapped_column(default="waiting_payment")


class _Shown(BaseModel):
    model_config = ConfigDict(from_attributes=True)
    id: int


class TeamAnswer(_Shown):
    """A team in a response."""

    name: str


class NodeAnswer(_Shown):
    """A node in a response."""

    name: str
    status: str


class OrderAnswer(_Shown):
    """An order in a response."""

    sats: int
    status: str


class Named(BaseModel):
    """A new team or node."""

    name: str


class Priced(BaseModel):
    """A new order."""

    sats: int


def migrations(folder: Path) -> Config:
    """Return where its migrations are, and its database."""
    config = Config()
    config.set_main_option("script_location", str(folder / "migrations"))
    config.set_main_option("sqlalchemy.url", f"sqlite:///{folder}/app.db")
    return config


def prepare(folder: Path) -> None:
    """Make its migrations and run them; this is not measured."""
    (folder / "migrations" / "versions").mkdir(parents=True)
    (folder / "migrations" / "env.py").write_text(_ENV)
    (folder / "migrations" / "versions" / "0001_first.py").write_text(_FIRST)
    command.upgrade(migrations(folder), "head")


Row = TypeVar("Row", bound=Base)
_sessions = sessionmaker()


def _session() -> Iterator[Session]:
    with _sessions() as opened:
        yield opened


Tx = Annotated[Session, Depends(_session)]
routes = APIRouter()


def _one(tx: Session, kind: type[Row], key: int) -> Row:
    found = tx.get(kind, key)
    if found is None:
        raise HTTPException(404)
    return found


def _stored(tx: Session, made: Row) -> Row:
    tx.add(made)
    tx.commit()
    return made


@routes.get("/health")
def health(tx: Tx) -> dict[str, int]:
    """Return whether the database answers."""
    return {"rows": tx.execute(select(1)).scalar_one()}


@routes.get("/teams")
def list_teams(tx: Tx) -> list[TeamAnswer]:
    """List all teams."""
    return [TeamAnswer.model_validate(each) for each in tx.scalars(select(Team))]


@routes.post("/teams")
def create_team(tx: Tx, body: Named) -> TeamAnswer:
    """Create a team."""
    return TeamAnswer.model_validate(_stored(tx, Team(name=body.name)))


@routes.get("/teams/{team_id}")
def get_team(tx: Tx, team_id: int) -> TeamAnswer:
    """Return a team."""
    return TeamAnswer.model_validate(_one(tx, Team, team_id))


@routes.get("/teams/{team_id}/nodes")
def list_nodes(tx: Tx, team_id: int) -> list[NodeAnswer]:
    """List a team's nodes."""
    return [NodeAnswer.model_validate(each) for each in _one(tx, Team, team_id).nodes]


@routes.post("/teams/{team_id}/nodes")
def create_node(tx: Tx, team_id: int, body: Named) -> NodeAnswer:
    """Create a node."""
    made = Node(team=_one(tx, Team, team_id), name=body.name)
    return NodeAnswer.model_validate(_stored(tx, made))


@routes.get("/nodes/{node_id}")
def get_node(tx: Tx, node_id: int) -> NodeAnswer:
    """Return a node."""
    return NodeAnswer.model_validate(_one(tx, Node, node_id))


@routes.delete("/nodes/{node_id}")
def delete_node(tx: Tx, node_id: int) -> None:
    """Delete a node."""
    tx.delete(_one(tx, Node, node_id))
    tx.commit()


@routes.post("/teams/{team_id}/orders")
def create_order(tx: Tx, team_id: int, body: Priced) -> OrderAnswer:
    """Create an order."""
    made = Order(team_id=_one(tx, Team, team_id).id, sats=body.sats)
    return OrderAnswer.model_validate(_stored(tx, made))


@routes.get("/orders/{order_id}")
def get_order(tx: Tx, order_id: int) -> OrderAnswer:
    """Return an order."""
    return OrderAnswer.model_validate(_one(tx, Order, order_id))


def application(folder: Path) -> FastAPI:
    """Return the application; its start refuses a database of another schema."""
    config = migrations(folder)
    engine = create_engine(config.get_main_option("sqlalchemy.url") or "")
    _sessions.configure(bind=engine)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        newest = ScriptDirectory.from_config(config).get_current_head()
        with engine.connect() as connection:
            found = MigrationContext.configure(connection).get_current_revision()
        if found != newest:
            raise RuntimeError(f"the database schema is {found}, and not {newest}")
        yield

    app = FastAPI(lifespan=lifespan)
    app.include_router(routes)
    return app


if __name__ == "__main__":
    uvicorn.run(
        application(Path(sys.argv[1])),
        port=int(sys.argv[2]),
        http="httptools",
        loop="uvloop",
        access_log=False,
        log_level="warning",
    )
