"""What holds for messages of peers: in memory, and through a real lnd."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

import pytest

from leyden.channels.direct.messages import (
    LONGEST,
    LSPS,
    LndMessages,
    Messages,
    PeerMessage,
)
from leyden.errors import SellerAway
from leyden.values import replace
from tests.channels.contracts.sellers import LndWorld
from tests.channels.contracts.worlds import FAKE_AND_LND
from tests.fakes.messages import FakeMessages

STRANGER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"


class World(Protocol):
    """Messages, and a peer that sends some and reads what it is sent."""

    @property
    def messages(self) -> Messages:
        """What is to be tried."""
        ...

    @property
    def peer(self) -> str:
        """The key of the peer."""
        ...

    async def say(self, data: bytes, *, kind: int = LSPS) -> None:
        """Let the peer send a message."""

    async def received(self) -> bytes:
        """Return what the peer was sent."""
        ...

    async def leave(self) -> None:
        """Take the seller away."""


@dataclass
class FakeWorld:
    """All in memory."""

    messages: FakeMessages = field(default_factory=FakeMessages)
    peer: str = f"03{'7a' * 32}"

    def __post_init__(self) -> None:
        self.messages.online.add(self.peer)

    async def say(self, data: bytes, *, kind: int = LSPS) -> None:
        if kind == LSPS:
            self.messages.arrive(self.peer, data)

    async def received(self) -> bytes:
        return (await self.messages.sent.get()).data

    async def leave(self) -> None:
        self.messages.break_off()


class RealWorld:
    """The customer's lnd, as the seller's, and the treasury's as its peer."""

    def __init__(self, world: LndWorld) -> None:
        self._world = world
        self.peer = world.peer
        self.messages = LndMessages(world.as_seller())
        self._heard: asyncio.Queue[bytes] = asyncio.Queue()
        self._hearing = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        answer = self._world._peers.stream("GET", "/v1/custommessage/subscribe")
        async for each in answer:
            if int(each["type"]) == LSPS:
                self._heard.put_nowait(base64.b64decode(each["data"]))

    async def say(self, data: bytes, *, kind: int = LSPS) -> None:
        key = (await self._world.owner.call("GET", "/v1/getinfo"))["identity_pubkey"]
        message = {
            "peer": base64.b64encode(bytes.fromhex(key)).decode(),
            "type": kind,
            "data": base64.b64encode(data).decode(),
        }
        await self._world._peers.call("POST", "/v1/custommessage", message)

    async def received(self) -> bytes:
        return await self._heard.get()

    async def leave(self) -> None:
        await self.messages.close()
        away = replace(self._world.as_seller(), port=1)
        self.messages = LndMessages(away)

    async def close(self) -> None:
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)
        await self.messages.close()
        await self._world.close()


@pytest.fixture(params=FAKE_AND_LND)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    if request.param == "fake":
        yield FakeWorld()
        return
    world = await LndWorld(request.getfixturevalue("treasury")).open()
    await world.seller.connect(world.peer, [world.at])
    real = RealWorld(world)
    yield real
    await real.close()


async def heard(world: World, say: bytes, *, kind: int = LSPS) -> PeerMessage:
    """Listen until the peer is heard; it says so again, as clients do."""
    stream = world.messages.listen()
    hearing = asyncio.ensure_future(anext(stream))
    async with asyncio.timeout(30):
        while not hearing.done():
            await world.say(b"of another kind", kind=kind)
            await world.say(say)
            await asyncio.wait([hearing], timeout=0.2)
    message = await hearing
    await stream.aclose()
    return message


async def test_a_peer_is_heard_and_answered(world: World) -> None:
    said = b'{"jsonrpc":"2.0"}'
    assert await heard(world, said, kind=LSPS + 2) == PeerMessage(world.peer, said)
    assert await world.messages.send(world.peer, b"an answer")
    async with asyncio.timeout(30):
        assert await world.received() == b"an answer"


async def test_messages_of_other_kinds_in_between_change_nothing(world: World) -> None:
    """What arrives is whole, and in its order."""
    ready = b"listening"
    stream = world.messages.listen()
    hearing = asyncio.ensure_future(anext(stream))
    async with asyncio.timeout(30):
        while not hearing.done():
            await world.say(ready)
            await asyncio.wait([hearing], timeout=0.2)
    said = [f'{{"id":"{number}"}}'.encode() * (1 + 40 * number) for number in range(40)]
    for number, each in enumerate(said):
        await world.say(b"\xff" * (number * 1_000), kind=LSPS + 2 * (number % 7 + 1))
        await world.say(each)
        await world.say(b"", kind=LSPS - 2)
    found: list[bytes] = []
    async with asyncio.timeout(30):
        while len(found) < len(said):
            message = await anext(stream)
            assert message.peer == world.peer
            if message.data != ready:
                found.append(message.data)
    assert found == said
    await stream.aclose()


async def test_who_is_not_connected_is_sent_nothing(world: World) -> None:
    assert not await world.messages.send(STRANGER, b"{}")


async def test_what_is_too_long_never_leaves(world: World) -> None:
    """lnd would drop the peer's connection."""
    with pytest.raises(ValueError, match="no message is as long"):
        await world.messages.send(world.peer, b" " * (LONGEST + 1))
    assert await world.messages.send(world.peer, b" " * LONGEST)


async def test_a_seller_that_is_away_is_told(world: World) -> None:
    hearing: asyncio.Future[PeerMessage] | None = None
    if isinstance(world, FakeWorld):
        hearing = asyncio.ensure_future(anext(world.messages.listen()))
        await asyncio.sleep(0)
    await world.leave()
    with pytest.raises(SellerAway):
        await (hearing or anext(world.messages.listen()))
