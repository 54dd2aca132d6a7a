"""What Tor's control port may answer, and who is let in.

Whatever listens there: the answer is TorAway, soon, and with no secret in it.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from leyden.errors import TorAway
from leyden.nodes.onions.control import ControlPort, TorControl
from leyden.nodes.rules.onions import Onion, expanded
from tests import tors

ONION = Onion(seed=bytes(range(32)), to="127.0.0.1:21000")
KEY = base64.b64encode(expanded(ONION.seed)).decode()
HELLO = (
    b"250-PROTOCOLINFO 1\r\n250-AUTH METHODS=HASHEDPASSWORD\r\n"
    b'250-VERSION Tor="0.4.9.11"\r\n250 OK\r\n'
)
OPEN = HELLO.replace(b"HASHEDPASSWORD", b"NULL")
OK = b"250 OK\r\n"
Answering = Callable[[bytes], bytes]
Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serving) -> AsyncIterator[str]:
    """Serve each connection with this; end those that are left at the end."""
    served: list[asyncio.Task[None]] = []

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        served.append(task)
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async with await asyncio.start_server(run, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for task in served:
        task.cancel()
    await asyncio.gather(*served, return_exceptions=True)


@asynccontextmanager
async def listening(answer: Answering) -> AsyncIterator[str]:
    """Answer each line with what this returns for it; hang up once that ends short."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (line := await reader.readline()) and (said := answer(line)):
            writer.write(said)
            await writer.drain()
            if not said.endswith(b"\n"):
                break

    async with serving(serve) as address:
        yield address


def saying(*answers: bytes) -> Answering:
    answer = iter(answers)
    return lambda _: next(answer, b"")


_opened: list[TorControl] = []


@pytest.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Close each connection at the end, in the loop that it was opened in."""
    yield
    while _opened:
        _opened.pop().close()


def tor_at(address: str, **given: Any) -> TorControl:
    _opened.append(TorControl(ControlPort(address=address, **given)))
    return _opened[-1]


async def refusal(answer: Answering, **given: object) -> str:
    """Return what is said of a control port that answers so, to `look`."""
    async with listening(answer) as address:
        given = {"password": "low tide", **given}
        with pytest.raises(TorAway) as refused:
            await tor_at(address, **given).status()
    assert "low tide" not in refused.value.message
    assert len(refused.value.message) < 300
    return refused.value.message


@pytest.mark.parametrize(
    "said",
    [
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x16\x03\x01\x00\xff\xfe\r\n",
        b"\r\n",
        b"25\r\n",
        b"\xb2\xb5\xb0 OK\r\n",
        b"250*OK\r\n",
        b"250 OK\r\n",  # no methods
        b"510 Unrecognized command\r\n",
        b"2" * 5_000 + b"\r\n",  # a line that is too long
        b"2" * 70_000,  # and one that has not ended when they hang up
        b"250-x\r\n" * 20_001,  # lines without end
        b"250+x=\r\n" + b"y\r\n" * 20_001,
    ],
    ids=lambda said: repr(said[:12]),
)
async def test_what_is_no_control_port_is_named(said: bytes) -> None:
    message = await refusal(saying(said))
    assert "tor_control: 127.0.0.1:" in message
    assert "what listens there does not speak Tor's control protocol" in message


async def test_who_hangs_up_has_not_answered() -> None:
    for answers in ((), (b"250-PROTO",), (HELLO,), (HELLO, OK)):
        message = await refusal(saying(*answers))
        assert "hung up in the middle of an answer" in message


async def test_who_says_nothing_is_not_waited_for() -> None:
    async def serve(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(serve) as address:
        with pytest.raises(TorAway, match="does not respond in time"):
            await tor_at(address=address, deadline_s=0.05).status()


@pytest.mark.parametrize(
    "said",
    [
        b"250-onions/detached=../../etc/passwd\r\n250 OK\r\n",
        b"250+onions/detached=\r\nabc\r\n.\r\n250 OK\r\n",
        b"250-onions/detached=" + b"a" * 57 + b"\r\n250 OK\r\n",
    ],
)
async def test_what_is_no_onion_service_is_not_taken_for_one(said: bytes) -> None:
    message = await refusal(saying(HELLO, OK, said, OK))
    assert "says something else than which onion services it has" in message


async def test_a_tor_that_is_too_old_is_named() -> None:
    said = b'552 Unrecognized key "onions/detached"\r\n'
    assert "too old" in await refusal(saying(HELLO, OK, said, OK))


async def test_a_thousand_services_are_read() -> None:
    hosts = [Onion(seed=n.to_bytes(32), to="").host for n in range(1_000)]
    data = "\r\n".join(each.removesuffix(".onion") for each in hosts).encode()
    answers = (
        b"250+onions/detached=\r\n" + data + b"\r\n.\r\n" + OK,
        b"250-status/circuit-established=1\r\n" + OK,
    )
    async with listening(saying(OPEN, OK, *answers)) as address:
        standing = await tor_at(address=address).status()
    assert standing.hosts == set(hosts)
    assert standing.connected


@pytest.mark.parametrize(
    "said",
    [
        b"512 Failed to decode " + KEY.encode() + b"\r\n",
        b"250-ServiceID=" + KEY[:56].encode() + b"\r\n250 OK\r\n",
        b"250 OK\r\n",
        KEY.encode() + b"\r\n",
        b"250-PrivateKey=ED25519-V3:" + KEY.encode() + b"\r\n250 OK\r\n",
    ],
)
async def test_what_tor_says_to_a_key_is_not_said_on(said: bytes) -> None:
    """It has the key, and may say it back: none of its words is in the error."""
    async with listening(saying(OPEN, OK, said)) as address:
        with pytest.raises(TorAway) as refused:
            await tor_at(address=address).add(ONION)
    assert KEY[:12] not in refused.value.message


async def test_a_service_that_tor_calls_otherwise_is_not_ours() -> None:
    other = Onion(seed=b"9" * 32, to="").host.removesuffix(".onion")
    said = f"250-ServiceID={other}\r\n250 OK\r\n".encode()
    async with listening(saying(OPEN, OK, said)) as address:
        with pytest.raises(TorAway, match="another onion service than it was told"):
            await tor_at(address=address).add(ONION)


async def test_a_password_that_is_said_back_is_not_said_on() -> None:
    said = b'515 Authentication failed: "low tide" 6c6f772074696465\r\n'
    message = await refusal(saying(HELLO, said))
    assert message == "tor_password: Tor says that this is not its password"


async def test_whoever_knows_the_password_is_let_in(tmp_path: Path) -> None:
    option = ("HashedControlPassword", tors.hashed(tors.PASSWORD))
    async with tors.running(tmp_path, *option) as real:
        standing = await tor_at(address=real.place, password=tors.PASSWORD).status()
        assert standing.hosts == set()
        with pytest.raises(TorAway, match="tor_password: Tor says that this is not"):
            await tor_at(address=real.place, password="high tide").status()
        with pytest.raises(TorAway, match="tor_password: must be set"):
            await tor_at(address=real.place).status()
        with pytest.raises(TorAway, match="tor_password: must be set"):
            await tor_at(address=real.place, cookie_file=real.cookie).status()


async def test_whoever_has_the_cookie_is_let_in(tmp_path: Path) -> None:
    stale, short, away = (tmp_path / name for name in ("stale", "short", "away"))
    stale.write_bytes(b"x" * 32)
    short.write_bytes(b"x" * 31)
    async with tors.running(tmp_path) as real:
        tor = tor_at(address=real.place, cookie_file=real.cookie)
        assert (await tor.status()).hosts == set()
        for file, wrong in (
            (stale, "is not the cookie of this Tor"),
            (short, "has no cookie in it, which is 32 bytes"),
            (away, r"cannot be read \(No such file or directory\)"),
            (tmp_path, r"cannot be read \(Is a directory\)"),
            (Path("/dev/zero"), "has no cookie in it"),
        ):
            with pytest.raises(TorAway, match=f"tor_cookie_file: {file} {wrong}"):
                await tor_at(address=real.place, cookie_file=file).status()
        with pytest.raises(TorAway, match="tor_cookie_file: must be set"):
            await tor_at(address=real.place).status()


async def test_a_unix_socket_is_a_place_too(tmp_path: Path) -> None:
    socket = tmp_path / "socket" / "control"
    socket.parent.mkdir(mode=0o700)
    options = ("ControlSocket", str(socket), "CookieAuthentication", "1")
    async with tors.running(tmp_path, *options) as real:
        tor = tor_at(address=f"unix:{socket}", cookie_file=real.cookie)
        await tor.add(ONION)
        assert (await tor.status()).hosts == {ONION.host}
    with pytest.raises(TorAway, match=f"tor_control: unix:{socket}: nothing listens"):
        await tor.status()


async def test_an_impostor_without_the_cookie_gets_nothing(tmp_path: Path) -> None:
    """Tor proves that it knows the cookie before we prove that we do."""
    cookie = tmp_path / "cookie"
    cookie.write_bytes(b"k" * 32)
    heard: list[bytes] = []
    answers = iter(
        (
            HELLO.replace(b"HASHEDPASSWORD", b"COOKIE,SAFECOOKIE"),
            b"250 AUTHCHALLENGE SERVERHASH=%b SERVERNONCE=%b\r\n"
            % (b"AB" * 32, b"CD" * 32),
        )
    )

    def answer(line: bytes) -> bytes:
        heard.append(line)
        return next(answers, b"")

    message = await refusal(answer, cookie_file=cookie, password="")
    assert "is not the cookie of this Tor" in message
    assert not any(b"AUTHENTICATE" in line for line in heard)
    assert b"k" * 32 not in b"".join(heard)
    assert (b"k" * 32).hex().encode() not in b"".join(heard).lower()


async def test_a_connection_is_kept_until_something_goes_wrong(tmp_path: Path) -> None:
    """Tor logs each new one, and we look every ten seconds."""
    log = tmp_path / "log"
    options = ("CookieAuthentication", "1", "Log", f"notice file {log}")
    async with tors.running(tmp_path, *options) as real:
        tor = tor_at(real.place, cookie_file=real.cookie)
        for _ in range(3):
            await tor.status()
        await tor.add(ONION)
        opened = log.read_text().count("New control connection opened")
        assert opened == 2  # one of them ours
        await real.kill()
        await real.start()
        assert (await tor.status()).hosts == set(), "the old one is not used again"


async def test_what_was_interrupted_leaves_no_answer_for_the_next(
    tmp_path: Path,
) -> None:
    async with tors.running(tmp_path) as real:
        tor = tor_at(real.place, cookie_file=real.cookie)
        await tor.status()
        for _ in range(5):
            looking = asyncio.create_task(tor.status())
            await asyncio.sleep(0)
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
            await tor.add(ONION)
            assert (await tor.status()).hosts == {ONION.host}
            await tor.remove(ONION.host)


def test_the_password_is_not_shown() -> None:
    shown = repr(ControlPort(address="127.0.0.1:9051", password="low tide"))
    assert "low tide" not in shown
