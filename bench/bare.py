"""A minimal sender of webhooks: no storage, no order, no retries.

A new connection for each, 64 at a time, with the standard library's asyncio streams on
its own loop: what one writes first. On uvloop it takes half the processor time, and on
bare protocols a tenth less still; benchmarks say those figures beside this one.
"""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from leyden.base.rules.times import utc_now
from leyden.events.rules.webhooks import signature_headers

PRODUCERS = 64


@dataclass(frozen=True)
class Sent:
    """The result of a run."""

    rate: float
    cpu_us: float  # for each event


def send(port: int, *, endpoints: int, events: int, loop: str = "asyncio") -> Sent:
    """Send so many from a process of its own."""
    call = f"from bench.bare import main; main({port}, {endpoints}, {events}, {loop!r})"
    said = subprocess.run(
        [sys.executable, "-c", call],
        cwd=Path(__file__).parents[1],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return Sent(*json.loads(said))


def main(port: int, endpoints: int, events: int, loop: str) -> None:
    """Send, and print the rate and the processor time."""
    requests = [request(port, number) for number in range(endpoints)]

    async def produce(first: int) -> None:
        for _ in range(events):
            for number in range(first, endpoints, PRODUCERS):
                await _post(port, requests[number])

    async def all_of_them() -> None:
        await asyncio.gather(*map(produce, range(PRODUCERS)))

    began, spent = time.perf_counter(), time.process_time()
    if loop == "uvloop":
        import uvloop  # noqa: PLC0415  only where it is asked for

        uvloop.run(all_of_them())
    else:
        asyncio.run(all_of_them())
    took, spent = time.perf_counter() - began, time.process_time() - spent
    count = endpoints * events
    print(json.dumps([count / took, spent / count * 1e6]))


async def _post(port: int, said: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    writer.close()


def request(port: int, number: int) -> bytes:
    """Write what the platform would send to an endpoint, byte for byte as long."""
    details = {"update_available": "true", "lnd_version": "v9.9.0-beta"}
    body = json.dumps(
        {
            "type": "update",
            "details": {**details, "service_version": "1"},
            "api": f"node-{number}.nodes.localhost",
        },
        separators=(",", ":"),
    )
    headers = signature_headers(
        ["3f" * 32], event_id=f"msg_{0:032}", sent=utc_now(), body=body
    )
    lines = [
        f"POST /prompt/{number} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "User-Agent: Leyden",
        "Accept-Encoding: identity",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "\r\n"]).encode() + body.encode()
