"""Where few files may be open, nobody takes all of them: in programs of their own."""

import asyncio
import json
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

from leyden.base.processes import share
from tests.authority import Authority

FILES = 128
LIMITED = ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", sys.executable, "-c"]
ORDERS = 300

SERVES = """
from tests.base.api.wire import Echo, running
with running(Echo()) as server:
    print(server.port, flush=True)
    input()
"""

LISTENS = """
import asyncio, sys
from pathlib import Path
from leyden.channels.rules.payments import PaymentRequest
from leyden.channels.payments.lnd import LndPayments
from leyden.nodes.lnd.connection import LndAccess

port, folder, orders = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
access = LndAccess(
    host="127.0.0.1", port=port, certificate=folder / "ca", macaroon=folder / "macaroon"
)
unpaid = [
    PaymentRequest(
        order_id=f"{i}FO", sats=1, onchain_address=f"a{i}", lightning_invoice="",
        payment_hash=f"{i:064x}",
    )
    for i in range(orders)
]

async def main():
    payments = LndPayments(access, preimage=lambda *_: b"")
    watch = payments.watch()
    heard = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)  # until it has begun to watch
    for _ in range(2):
        print(len(await payments.lookup(unpaid)), flush=True)
    assert not heard.done(), heard
    heard.cancel()
    await asyncio.gather(heard, return_exceptions=True)
    await payments.close()

asyncio.run(main())
"""


def test_a_share_is_at_least_one_and_never_more_than_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def among(files: int) -> int:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
        return share(8, enough=1_000)

    assert among(4) == 1
    assert among(1_024) == 128
    assert among(1_000_000) == 1_000
    assert among(resource.RLIM_INFINITY) == 1_000


def test_silent_callers_leave_files_for_the_next_request() -> None:
    with (
        ExitStack() as connected,
        subprocess.Popen(
            [*LIMITED, SERVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        address = ("127.0.0.1", int(server.stdout.readline()))
        for _ in range(3 * FILES):
            connected.enter_context(socket.create_connection(address, timeout=10))
        one = connected.enter_context(socket.create_connection(address, timeout=10))
        one.sendall(b"GET /harbour HTTP/1.1\r\nHost: leyden.example\r\n\r\n")
        assert one.recv(1_024).startswith(b"HTTP/1.1 200 ")
        server.stdin.write("\n")


async def test_unpaid_orders_leave_files_to_hear_of_payments(tmp_path: Path) -> None:
    async with _treasury(tmp_path) as port:
        listener = await asyncio.create_subprocess_exec(
            *(*LIMITED, LISTENS, str(port), str(tmp_path), str(ORDERS)),
            stdout=asyncio.subprocess.PIPE,
        )
        said, _ = await asyncio.wait_for(listener.communicate(), 60)
    assert (listener.returncode, said.split()) == (0, [str(ORDERS).encode()] * 2)


@asynccontextmanager
async def _treasury(folder: Path) -> AsyncIterator[int]:
    """Serve what an lnd says that has many invoices, none of them paid."""
    authority = Authority()
    (folder / "ca").write_text(authority.pem)
    (folder / "macaroon").write_bytes(b"\0")
    authority.give(folder, "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.cert", folder / "tls.key")
    callers: set[asyncio.Task[None]] = set()

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        callers.add(task)
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ")[1]
            if b"subscribe" in path or b"register" in path:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                await reader.read()
                return
            answer = json.dumps(
                {"block_height": 1, "transactions": [], "state": "OPEN", "htlcs": []}
            ).encode()
            size = f"Content-Length: {len(answer)}\r\n\r\n".encode()
            writer.write(b"HTTP/1.1 200 OK\r\n" + size + answer)

    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as it:
        yield it.sockets[0].getsockname()[1]
        for each in callers:
            each.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
