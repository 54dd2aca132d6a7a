"""The servers that benchmarks compare, each a process of its own.

    python -m bench.contenders raw 8100 answer.json

serves the bytes of a file at every path, with no thought given to who asks, on our own
server (`raw`), on uvicorn as it comes (`uvicorn`) or on Granian (`granian`). `peer`
serves an installation's folder as most would write it: see peer.py.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from leyden.base.http.server import bind


@dataclass(frozen=True)
class Contender:
    """A server that runs."""

    url: str
    pid: int


@contextmanager
def contender(
    kind: str, answer: Path, *, look_every_s: float = 0.02
) -> Iterator[Contender]:
    """Run a contender for the block."""
    with closing(bind("127.0.0.1", 0)[0]) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.contenders", kind, str(port), str(answer)],
        stdout=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process, every_s=look_every_s)
        yield Contender(url, process.pid)
    finally:
        process.terminate()
        process.wait(20)


def wait_for(
    url: str, process: "subprocess.Popen[Any]", *, every_s: float = 0.02
) -> None:
    """Wait until a contender answers."""
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(url, timeout=1):
                return
        except HTTPError:
            return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(every_s)
    raise RuntimeError(f"{url} does not answer")


def fixed(body: bytes) -> Any:
    """Return the application that always answers this."""
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def _peer(folder: Path) -> Any:
    from bench.installation import database_url  # noqa: PLC0415
    from bench.peer import application  # noqa: PLC0415  FastAPI only where needed

    return application(folder, database_url(folder))


def main(kind: str, port: int, answer: str) -> None:
    """Serve until told to stop."""
    if kind == "peer":
        _ours(_peer(Path(answer)), port)
        return
    body = Path(answer).read_bytes()
    match kind:
        case "raw":
            _ours(fixed(body), port)
        case "uvicorn":
            import uvicorn  # noqa: PLC0415

            uvicorn.run(
                fixed(body),
                port=port,
                http="httptools",
                loop="uvloop",
                access_log=False,
                log_level="warning",
                lifespan="off",
            )
        case "granian":
            _granian(answer, port)
        case _:
            raise SystemExit(f"there is no contender {kind}")


def _ours(app: Any, port: int) -> None:
    import signal  # noqa: PLC0415

    import uvloop  # noqa: PLC0415

    from leyden.base.http.server import serving  # noqa: PLC0415

    async def serve() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with serving(app, bind("127.0.0.1", port)):
            await stop.wait()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())


def _granian(answer: str, port: int) -> None:
    import os  # noqa: PLC0415

    from granian import Granian  # noqa: PLC0415
    from granian.constants import HTTPModes, Interfaces, Loops  # noqa: PLC0415

    os.environ["BENCH_ANSWER"] = answer
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    Granian(
        "bench.contenders:from_environment",
        factory=True,
        port=port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        loop=Loops.uvloop,
        workers=1,
        websockets=False,
        log_enabled=False,
    ).serve()


def from_environment() -> Any:
    """Return the application in a process that only has its environment."""
    import os  # noqa: PLC0415

    return fixed(Path(os.environ["BENCH_ANSWER"]).read_bytes())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
