"""A stand-in for lnd: its folder, its states, its REST calls about wallets, its ends.

It runs within a test, or as a program of its own in lnd's place:

    python stand_in_lnd.py --lnddir=FOLDER

It must not import anything of the project: what it says is lnd's contract, not ours.
"""

import asyncio
import contextlib
import json
import os
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

OPENING = ("UNLOCKED", "RPC_ACTIVE", "SERVER_ACTIVE")


class StandInLnd:
    """One lnd, serving REST on one address."""

    def __init__(self, folder: Path, *, has_wallet: bool = False) -> None:
        self.folder = folder
        self.state = "WAITING_TO_START"
        self.ending = asyncio.Event()
        self.streams = 0
        self._has_wallet = has_wallet or self._wallet.exists()
        self._said = asyncio.Condition()

    @property
    def _wallet(self) -> Path:
        return self.folder / "data" / "chain" / "bitcoin" / "simnet" / "wallet.db"

    async def say(self, state: str) -> None:
        """Come to a state, and tell whoever follows."""
        async with self._said:
            self.state = state
            self._said.notify_all()

    @contextlib.asynccontextmanager
    async def serving(self, host: str, port: int) -> AsyncIterator[int]:
        """Serve until the block ends; give the port."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "tls.cert", self.folder / "tls.key")
        connections: set[asyncio.Task[None]] = set()

        async def answer(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
                await self._answer(reader, writer)
            connections.discard(task)
            writer.close()

        server = await asyncio.start_server(answer, host, port, ssl=context)
        await self.say("LOCKED" if self._has_wallet else "NON_EXISTING")
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for task in list(connections):
                task.cancel()
            await asyncio.gather(*connections, return_exceptions=True)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, path, _ = head.split("\r\n", 1)[0].split(" ")
            length = 0
            for line in head.lower().split("\r\n"):
                if line.startswith("content-length:"):
                    length = int(line.partition(":")[2])
            body = json.loads(await reader.readexactly(length)) if length else {}
            if path == "/v1/state/subscribe":
                await self._stream(writer)
            status, answer = await self._call(method, path, body)
            content = json.dumps(answer).encode()
            writer.write(
                f"HTTP/1.1 {status} So\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(content)}\r\n\r\n".encode()
                + content
            )
            await writer.drain()

    async def _stream(self, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        self.streams += 1
        said = ""
        while True:
            async with self._said:
                await self._said.wait_for(lambda: self.state != said)  # noqa: B023
                said = self.state
            line = json.dumps({"result": {"state": said}}).encode() + b"\n"
            writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            await writer.drain()

    async def _call(
        self, method: str, path: str, body: dict[str, object]
    ) -> tuple[int, object]:
        if (method, path) == ("GET", "/v1/state"):
            return 200, {"state": self.state}
        if method != "POST":
            return 404, {"code": 5, "message": "Not Found", "details": []}
        match path, self.state:
            case "/v1/initwallet", "NON_EXISTING":
                self._wallet.parent.mkdir(parents=True, exist_ok=True)
                self._wallet.write_text("a wallet")
            case "/v1/unlockwallet", "LOCKED":
                if not body.get("stateless_init"):
                    (self._wallet.parent / "admin.macaroon").write_text("all of it")
            case "/v1/stop", _:
                self.log("Received shutdown request.")
                self.ending.set()
                return 200, {"status": "shutdown initiated, check logs for progress"}
            case "/v1/crash", _:
                os._exit(3)
            case _:
                return 500, {"code": 2, "message": f"{path} in {self.state}"}
        for state in OPENING:
            await self.say(state)
        return 200, {"admin_macaroon": ""}

    def log(self, words: str) -> None:
        """Write a line where lnd would, as lnd would."""
        file = self.folder / "logs" / "bitcoin" / "simnet" / "lnd.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        at = f"{datetime.now():%Y-%m-%d %H:%M:%S}.000"  # noqa: DTZ005  as lnd does
        with file.open("a") as lines:
            lines.write(f"{at} [INF] LTND: {words}\n")


async def main(folder: Path) -> int:
    """Be lnd until somebody ends it."""
    options: dict[str, str] = {}
    for line in (folder / "lnd.conf").read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals:
            options[key] = value
    if options.get("alias", "").startswith("crash"):
        return 1
    lnd = StandInLnd(folder)

    def end() -> None:
        lnd.log("Received terminated")
        lnd.ending.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    host, _, port = options["restlisten"].rpartition(":")
    async with lnd.serving(host, int(port)):
        await lnd.ending.wait()
        if options.get("alias", "").startswith("slow"):
            await asyncio.sleep(0.5)
    lnd.log("Shutdown complete")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print("lnd version 0.20.2-beta commit=v0.20.2-beta")  # noqa: T201  as lnd does
        sys.exit(0)
    given = dict(each.removeprefix("--").split("=", 1) for each in sys.argv[1:])
    sys.exit(asyncio.run(main(Path(given["lnddir"]))))
