"""Simulated lnds: one program that answers for thousands, as far as their states go.

    python -m bench.simulated_lnds FOLDER PORT

It listens at every address of this machine, so each of 127.0.0.0/8 may be a node's,
and shows the certificate in the folder. It answers as lnd does: `/v1/state` once, and
`/v1/state/subscribe` for as long as somebody listens. Lines on its input are answered
by a line each:

    streams             how many addresses are listened to once, how many more than
                        once, and how often somebody began to listen
    say STATE HOST ...  those come to this state, which their listeners are told
"""

import asyncio
import json
import resource
import ssl
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

import uvloop

CERTIFICATE: Final = "lnd.cert"
KEY: Final = "lnd.key"
FIRST: Final = "SERVER_ACTIVE"  # its wallet is open
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_HANDSHAKES: Final = 1024
_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104  each address is a node's


class Lnds:
    """All simulated lnds: their states, and their listeners."""

    def __init__(self) -> None:
        self.listeners: defaultdict[str, set[asyncio.Transport]] = defaultdict(set)
        self.opened = 0
        self._states: dict[str, str] = {}

    def state(self, host: str) -> str:
        """Return the state of one."""
        return self._states.get(host, FIRST)

    def say(self, state: str, hosts: Iterable[str]) -> None:
        """Set the state of some."""
        for host in hosts:
            self._states[host] = state
            for transport in self.listeners.get(host, ()):
                transport.write(_chunk(state))

    def streams(self) -> dict[str, int]:
        """Count the streams of each."""
        numbers = [len(each) for each in self.listeners.values()]
        return {
            "once": numbers.count(1),
            "more": sum(number > 1 for number in numbers),
            "opened": self.opened,
        }


class Connection(asyncio.Protocol):
    """One connection to one of them."""

    def __init__(self, lnds: Lnds) -> None:
        self._lnds = lnds
        self._host = ""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note who is called: the address that was connected to."""
        self._transport = cast("asyncio.Transport", transport)
        self._host = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        """Answer a request, which comes whole: it is two lines."""
        state = self._lnds.state(self._host)
        if data.startswith(b"GET /v1/state/subscribe "):
            self._lnds.listeners[self._host].add(self._transport)
            self._lnds.opened += 1
            answer = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + _chunk(state)
        else:
            body = b'{"state":"%b"}' % state.encode()
            answer = _HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self._transport.write(answer)

    def connection_lost(self, _: Exception | None) -> None:
        """Remove the listener."""
        self._lnds.listeners[self._host].discard(self._transport)


def _chunk(state: str) -> bytes:
    line = b'{"result":{"state":"%b"}}\n' % state.encode()
    return b"%x\r\n%b\r\n" % (len(line), line)


async def main(folder: Path, port: int) -> None:
    """Serve all of them until standard input ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    lnds, loop = Lnds(), asyncio.get_running_loop()
    await loop.create_server(
        lambda: Connection(lnds), _EVERYWHERE, port, ssl=context, backlog=_HANDSHAKES
    )
    reader = asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    print("ready", flush=True)
    while line := await reader.readline():
        match line.decode().split():
            case ["say", state, *hosts]:
                lnds.say(state, hosts)
        print(json.dumps(lnds.streams()), flush=True)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
