import asyncio
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.lnd.trust import trusting
from leyden.nodes.lnd.state_lines import NotAStream, StateLines
from leyden.nodes.lnd.states import StatesWatch, TlsAddress
from leyden.nodes.rules.observations import LndState
from tests.authority import Authority
from tests.ports import connected_to
from tests.stand_in_lnd import StandInLnd
from tests.waiting import until

NAME = "harbour-light.nodes.localhost"
AS_LND_SAYS_IT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    b"Date: Sun, 01 Mar 2026 12:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'2a\r\n{"result":{"state":"WAITING_TO_START"}}   \r\n'
    b"1\r\n\n\r\n"
    b'24\r\n{"result":{"state":"NON_EXISTING"}}\n\r\n'
)


@given(st.lists(st.integers(1, len(AS_LND_SAYS_IT)), max_size=20))
def test_states_are_read_wherever_the_network_cuts(cuts: list[int]) -> None:
    lines, states, start = StateLines(), [], 0
    for cut in [*sorted(cuts), len(AS_LND_SAYS_IT)]:
        states += lines.feed(AS_LND_SAYS_IT[start:cut])
        start = cut
    assert states == [LndState.WAITING_TO_START, LndState.NON_EXISTING]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n"
        + b"x" * 20_000,
        b"x" * 20_000,
    ],
)
def test_what_is_no_state_stream_is_not_read_as_one(answer: bytes) -> None:
    with pytest.raises(NotAStream):
        StateLines().feed(answer)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def lnd(authority: Authority, tmp_path: Path) -> StandInLnd:
    authority.give(tmp_path, NAME)
    return StandInLnd(tmp_path)


async def test_each_state_is_told_as_it_comes(
    authority: Authority, lnd: StandInLnd
) -> None:
    states: list[LndState] = []
    async with lnd.serving("127.0.0.1", 0) as port:
        address = TlsAddress("127.0.0.1", port, NAME)
        watch = StatesWatch(address, trusting(authority.pem), states.append)
        await until(lambda: states == [LndState.NON_EXISTING])
        await lnd.say("UNLOCKED")
        await lnd.say("RPC_ACTIVE")
        await until(lambda: states[-1:] == [LndState.RPC_ACTIVE])
        await lnd.say("SERVER_ACTIVE")
        await until(lambda: states[-1:] == [LndState.SERVER_ACTIVE])
        assert lnd.streams == 1
        watch.close()


async def test_a_stream_whose_other_end_is_gone_is_noticed_within_minutes(
    authority: Authority, lnd: StandInLnd
) -> None:
    """A machine was cut off for so long that its lnd has given the stream up."""
    states: list[LndState] = []
    async with lnd.serving("127.0.0.1", 0) as port:
        address = TlsAddress("127.0.0.1", port, NAME)
        watch = StatesWatch(address, trusting(authority.pem), states.append)
        await until(lambda: bool(states))
        [line] = connected_to(port)
        with line:
            assert line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            idle, every, times = (
                line.getsockopt(socket.IPPROTO_TCP, option)
                for option in (
                    socket.TCP_KEEPIDLE,
                    socket.TCP_KEEPINTVL,
                    socket.TCP_KEEPCNT,
                )
            )
        watch.close()
    assert idle + every * times <= 180


async def test_it_knocks_until_lnd_opens_and_again_when_lnd_comes_back(
    authority: Authority, lnd: StandInLnd
) -> None:
    states: list[LndState] = []
    async with lnd.serving("127.0.0.1", 0) as port:
        pass  # now there is a port that nobody serves
    watch = StatesWatch(
        TlsAddress("127.0.0.1", port, NAME), trusting(authority.pem), states.append
    )
    await asyncio.sleep(0.02)
    assert states == []
    for _ in range(2):
        states.clear()
        async with lnd.serving("127.0.0.1", port):
            await until(lambda: states == [LndState.NON_EXISTING])
    watch.close()


async def test_a_stranger_is_not_listened_to(
    authority: Authority, tmp_path: Path
) -> None:
    states: list[LndState] = []
    for name, signer in ((NAME, Authority("a stranger")), ("other.node", authority)):
        signer.give(tmp_path, name)
        async with StandInLnd(tmp_path).serving("127.0.0.1", 0) as port:
            watch = StatesWatch(
                TlsAddress("127.0.0.1", port, NAME),
                trusting(authority.pem),
                states.append,
            )
            await asyncio.sleep(0.1)
            watch.close()
    assert states == []


async def test_it_waits_for_its_turn_to_be_let_in(
    authority: Authority, lnd: StandInLnd
) -> None:
    states: list[LndState] = []
    turns = asyncio.Semaphore(1)
    async with lnd.serving("127.0.0.1", 0) as port:
        address = TlsAddress("127.0.0.1", port, NAME)
        trusts = trusting(authority.pem)
        async with turns:
            first = StatesWatch(address, trusts, states.append, turns=turns)
            gone = StatesWatch(address, trusts, states.append, turns=turns)
            await asyncio.sleep(0.05)
            gone.close()
            assert lnd.streams == 0
        await until(lambda: states == [LndState.NON_EXISTING])
        assert not turns.locked()
        first.close()


async def test_after_closing_nothing_is_told(
    authority: Authority, lnd: StandInLnd
) -> None:
    states: list[LndState] = []
    async with lnd.serving("127.0.0.1", 0) as port:
        watch = StatesWatch(
            TlsAddress("127.0.0.1", port, NAME), trusting(authority.pem), states.append
        )
        await until(lambda: lnd.streams == 1)
        await until(lambda: states == [LndState.NON_EXISTING])
        watch.close()
        await lnd.say("SERVER_ACTIVE")
        await asyncio.sleep(0.02)
    assert states == [LndState.NON_EXISTING]


async def test_whoever_answers_is_heard_however_many_are_silent(
    authority: Authority, lnd: StandInLnd
) -> None:
    """As those on a machine that is lost: what is sent there is not even refused."""
    states: list[LndState] = []
    turns, tls = asyncio.Semaphore(2), trusting(authority.pem)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        nowhere = TlsAddress("127.0.0.1", silent.getsockname()[1], NAME)
        # Nobody takes the first ones, and the next are not even answered.
        waiting = [
            StatesWatch(nowhere, tls, states.append, turns=turns) for _ in range(8)
        ]
        await asyncio.sleep(0.1)
        async with lnd.serving("127.0.0.1", 0) as port:
            address = TlsAddress("127.0.0.1", port, NAME)
            watch = StatesWatch(address, tls, states.append, turns=turns)
            await until(lambda: states == [LndState.NON_EXISTING])
            watch.close()
        for each in waiting:
            each.close()
        await asyncio.sleep(0)
