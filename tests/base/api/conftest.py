"""The API as its callers see it: Alice and Bob on one team, Charlie on another."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest

from leyden.app.endpoints import OPERATIONS, OPERATOR_OPERATIONS
from leyden.app.serving.api import Api
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.http.operations import Operation, Table
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.events.tails import Tails
from leyden.manual.openapi import refusals
from leyden.people import accounts, api_keys
from tests.conftest import NOW

_TABLE = Table((*OPERATIONS, *OPERATOR_OPERATIONS))


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Caller:
    """Someone with an API key, or without."""

    api: Api
    key: str | None
    organization_id: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    address: str = "127.0.0.1"
    # Done once, while the body of the next request is on its way.
    meanwhile: Callable[[], Awaitable[object]] | None = None
    drops_bodies: bool = False  # of answers, which take their time to be put together

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.call("GET", path, headers=headers)

    async def post(self, path: str, body: object, **headers: str) -> Answer:
        return await self.call("POST", path, json.dumps(body).encode(), headers=headers)

    async def delete(self, path: str, **headers: str) -> Answer:
        return await self.call("DELETE", path, headers=headers)

    async def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = "application/json",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Make one request through ASGI, as the server would."""
        path, _, query = path.partition("?")
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        sent = [*self.headers, *named]
        if self.key is not None:
            sent.append(("X-SERVICE-AUTH", self.key))
        if body:
            sent.append(("Content-Type", content_type))
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(n.lower().encode(), v.encode("latin-1")) for n, v in sent],
            "client": (self.address, 50_000),
        }
        answered: list[MutableMapping[str, Any]] = []

        received = False

        async def receive() -> MutableMapping[str, Any]:
            nonlocal received
            if received:
                await asyncio.Event().wait()  # the caller stays until it is answered
            received = True
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                await meanwhile()
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            if self.drops_bodies and "body" in message:
                message = {**message, "body": b""}
            answered.append(message)

        await self.api(scope, receive, send)
        start, *rest = answered
        _is_announced(method, path, start["status"])
        return Answer(
            status=start["status"],
            headers={name.decode(): value.decode() for name, value in start["headers"]},
            body=b"".join(message["body"] for message in rest),
        )


def _is_announced(method: str, path: str, status: int) -> None:
    """Fail on an error that the OpenAPI document doesn't list for the operation."""
    operation = _TABLE.find(path)[0].get(method)
    if operation is not None and status not in {200, 500}:
        assert status in refusals(operation), (
            f"{operation.name} returned {status}: list the error under `refuses` in "
            "app/endpoints.py"
        )


@pytest.fixture
def settings() -> Settings:
    return Settings(requests_per_minute=10_000, failures_per_minute=10_000)


@pytest.fixture
def platform(db: Database, sealer: Sealer, settings: Settings) -> Platform:
    return Platform(
        settings=settings,
        database=db,
        sealer=sealer,
        clock=lambda: NOW,
        tails=Tails(db, limit=settings.event_waits_per_key),
    )


@pytest.fixture
def operations() -> tuple[Operation, ...]:
    return OPERATIONS


@pytest.fixture
def api(platform: Platform, operations: tuple[Operation, ...]) -> Api:
    return Api(platform, operations)


async def _team(platform: Platform, name: str) -> str:
    made = await accounts.create_organization(platform, name, actor="test")
    return made.id


async def caller(api: Api, platform: Platform, organization_id: str) -> Caller:
    """Return a caller of that organization, with a key of its own."""
    _, text = await api_keys.create(
        platform,
        organization_id,
        name="test",
        scopes=["node", "flow"],
        expires=None,
        actor="test",
    )
    return Caller(api, text, organization_id)


@pytest.fixture
async def alice(api: Api, platform: Platform) -> Caller:
    """She owns it."""
    return await caller(api, platform, await _team(platform, "Harbour Light"))


@pytest.fixture
async def bob(api: Api, platform: Platform, alice: Caller) -> Caller:
    """He is on her team, with a key of his own."""
    return await caller(api, platform, alice.organization_id)


@pytest.fixture
async def charlie(api: Api, platform: Platform) -> Caller:
    """He is on another team: nothing of Alice's exists for him."""
    return await caller(api, platform, await _team(platform, "Other Shore"))


@pytest.fixture
def nobody(api: Api) -> Caller:
    """A caller without a key."""
    return Caller(api, None, "")
