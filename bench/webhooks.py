"""B3 and B7: latency and rate of webhooks, and the effect of bad receivers.

`reaction`: a real lnd is killed, and its `stopped` races a bare observer's: one state
stream, one POST, no database. `crowd`: 1,000 endpoints get 10 events each through the
durable outbox; the base (bare.py) sends the same bytes and forgets.
`trouble`: a tenth of the receivers hang and a tenth reset; what do the others feel?
`parked`: 100,000 events wait for receivers that are away; what does that cost?

    ./leyden bench webhooks [reaction|crowd|trouble|parked ...] [--rounds 7]
"""

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import signal
import ssl
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

import uvloop
from bench.bare import PRODUCERS, Sent, send
from bench.measure import Figures, Report, quantile, resident_kib, turns
from bench.postbox import Postbox, postbox
from bench.receivers import Heard, Receivers, receivers
from bench.town import SETTINGS, Town, town

from leyden.base import garbage, logs, processes

ENDPOINTS, EVENTS = 1_000, 10
PATIENCE_S = 300
_VERSION = re.compile(r'"lnd_version":"v9\.9\.(\d+)-beta"')


# How many: `crowd`


async def bare(receivers: Receivers, *, loop: str = "asyncio") -> Sent:
    """Send as many as possible, without storing anything."""
    receivers.heard()
    sent = await asyncio.to_thread(
        send, receivers.port, endpoints=ENDPOINTS, events=EVENTS, loop=loop
    )
    assert len(receivers.heard()) == ENDPOINTS * EVENTS
    return sent


async def ours(receivers: Receivers) -> Sent:
    """Announce and deliver as many durably, and check that."""
    urls = [receivers.url("prompt", number) for number in range(ENDPOINTS)]
    async with postbox(urls) as box, box.delivering():

        async def produce(first: int) -> None:
            for number in range(EVENTS):
                for node in box.nodes[first::PRODUCERS]:
                    await box.announce(node, number)

        receivers.heard()
        began, spent = time.monotonic(), time.process_time()
        await asyncio.gather(*map(produce, range(PRODUCERS)))
        await _until_quiet(box)
        spent = time.process_time() - spent
        heard = receivers.heard()
        took = max(each.at_s for each in heard) - began
        _prove(heard)
    count = ENDPOINTS * EVENTS
    return Sent(count / took, spent / count * 1e6)


def _prove(heard: Iterable[Heard]) -> None:
    """Check that nothing is lost or doubled, and each node's order is kept."""
    came: defaultdict[str, list[int]] = defaultdict(list)
    for each in heard:
        came[each.path].append(_number(each))
    assert len(came) == ENDPOINTS
    assert all(numbers == list(range(EVENTS)) for numbers in came.values())


def _number(heard: Heard) -> int:
    (number,) = _VERSION.findall(heard.body)
    return int(number)


async def crowd(rounds: int) -> int:
    """Compare the rates."""
    report = Report("B7 webhooks: 1,000 endpoints x 10 events, through the outbox")
    rates, costs = Figures(), Figures()
    with receivers() as receiver:
        for name in turns(["bare", "ours", "bare again"], rounds=rounds):
            sent = await (ours(receiver) if name == "ours" else bare(receiver))
            rates.add(name, sent.rate)
            costs.add(name, sent.cpu_us)
        best = await bare(receiver, loop="uvloop")
    report.note(
        f"a second: bare {rates.median('bare'):.0f}, ours {rates.median('ours'):.0f}"
    )
    report.note(
        f"processor for each: bare {costs.median('bare'):.0f} µs, "
        f"ours {costs.median('ours'):.0f} µs, bare on uvloop {best.cpu_us:.0f} µs"
    )
    report.null(rates.ratio("bare again", "bare"))
    report.at_least(0.35, rates.ratio("ours", "bare"))
    return report.end()


# Who else suffers: `trouble`


async def steady(receivers: Receivers, manners: Sequence[str], rate: float) -> float:
    """Announce at a steady rate; return the p99 latency of prompt receivers in ms."""
    urls = [receivers.url(manner, number) for number, manner in enumerate(manners)]
    async with postbox(urls) as box, box.delivering():
        receivers.heard()
        durable: dict[tuple[str, int], float] = {}
        under_way: set[asyncio.Task[None]] = set()

        async def announce(endpoint: int, number: int) -> None:
            path = urls[endpoint].partition(str(receivers.port))[2]
            durable[path, number] = await box.announce(box.nodes[endpoint], number)

        began = time.monotonic()
        for count in range(3 * len(manners)):
            number, endpoint = divmod(count, len(manners))
            await asyncio.sleep(max(0, began + count / rate - time.monotonic()))
            task = asyncio.create_task(announce(endpoint, number))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
        prompt = sum(manner == "prompt" for manner in manners)
        heard: list[Heard] = []

        def all_there() -> bool:
            heard.extend(h for h in receivers.heard() if h.path.startswith("/prompt"))
            return len(heard) >= 3 * prompt

        await _until(all_there)
    waits = [each.at_s - durable[each.path, _number(each)] for each in heard]
    return quantile(waits, 0.99) * 1000


async def trouble(rounds: int) -> int:
    """Compare prompt receivers with and without bad ones beside them."""
    report = Report("B7 webhooks: what hanging and resetting receivers cost others")
    figures = Figures()
    healthy = ["prompt"] * ENDPOINTS
    mixed = (["hang", "reset"] + ["prompt"] * 8) * (ENDPOINTS // 10)
    with receivers() as receiver:
        rate = 0.3 * (await ours(receiver)).rate
        report.note(f"at a steady {rate:.0f} events a second")
        for name in turns(["healthy", "mixed", "healthy again"], rounds=rounds):
            manners = mixed if name == "mixed" else healthy
            figures.add(name, await steady(receiver, manners, rate))
    report.note(
        f"p99 from durable to received: healthy {figures.median('healthy'):.1f} ms, "
        f"in bad company {figures.median('mixed'):.1f} ms"
    )
    report.null(figures.ratio("healthy again", "healthy"))
    report.at_most(1.2, figures.ratio("mixed", "healthy"))
    return report.end()


# What waiting costs: `parked`


async def parked() -> int:
    """Queue 100,000 events for unreachable receivers; measure the memory."""
    report = Report("B7 webhooks: 100,000 events parked for receivers that are away")
    with receivers() as gone:
        urls = [gone.url("prompt", number) for number in range(ENDPOINTS)]
    async with postbox(urls) as box, box.delivering():
        await _park(box, range(2))  # what the first use of everything takes
        before = resident_kib(os.getpid())
        await _park(box, range(2, 102))
        grown_mib = (resident_kib(os.getpid()) - before) / 1024
        waiting = 0
        for node in box.nodes:
            waiting += len(
                await box.database.reader.subscription_deliveries.pending(
                    node.id, limit=999
                )
            )
    report.holds(f"{waiting:,} events wait", met=waiting >= 100_000)
    report.holds(f"memory grew by {grown_mib:.1f} MiB <= 20", met=grown_mib <= 20)
    return report.end()


async def _park(box: Postbox, numbers: Sequence[int]) -> None:
    for node in box.nodes:
        await box.announce_all(node, numbers)

    await _until_quiet(box)


async def _until_quiet(box: Postbox) -> None:
    """Wait until nothing is under way and nothing due."""
    deadline = time.monotonic() + PATIENCE_S
    while box.is_busy():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


# How soon: `reaction`


class _Post(asyncio.Protocol):
    """A minimal request of a webhook."""

    def __init__(self, request: bytes, answered: "asyncio.Future[bytes]") -> None:
        self._request = request
        self._answered = answered

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Close the connection after the response."""
        if not self._answered.done():
            self._answered.set_result(data)
        self._transport.close()


class Observer:
    """The bare observer: it follows one lnd's stream, and POSTs when that ends."""

    def __init__(
        self, receivers: Receivers, name: str, host: str, tls: ssl.SSLContext
    ) -> None:
        body = '{"type":"status","details":{"status":"stopped"}}'
        self._request = (
            f"POST /prompt/{name} HTTP/1.1\r\nHost: 127.0.0.1:{receivers.port}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()
        self._receiver = receivers
        self._host = host
        self._tls = tls
        self.listening = asyncio.Event()

    async def observe(self, endpoint: str) -> None:
        """Follow the stream to its end, and POST."""
        reader, writer = await asyncio.open_connection(
            self._host, 18_080, ssl=self._tls, server_hostname=endpoint
        )
        writer.write(
            f"GET /v1/state/subscribe HTTP/1.1\r\nHost: {endpoint}\r\n\r\n".encode()
        )
        await reader.readuntil(b"NON_EXISTING")
        self.listening.set()
        with contextlib.suppress(OSError):
            while await reader.read(4096):
                pass
        writer.transport.abort()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()
        await loop.create_connection(
            lambda: _Post(self._request, answered), "127.0.0.1", self._receiver.port
        )
        await answered


async def reaction(pairs: int) -> int:
    """Let the platform and bare observers see the same end of the same lnd."""
    report = Report("B3 from kill -9 of an lnd to its `stopped` at the receiver")
    figures = Figures()
    with _open_folder() as folder, receivers() as receiver:
        async with town(
            folder, webhooks_over_http="true", webhook_networks="127.0.0.0/8"
        ) as platform:
            for number in range(pairs):
                for name, took_ms in (await _race(platform, receiver, number)).items():
                    figures.add(name, took_ms)
    ours_ms, bare_ms = figures.median("ours"), figures.median("bare")
    report.note(f"p50: bare {bare_ms:.1f} ms, ours {ours_ms:.1f} ms")
    report.null(figures.ratio("bare again", "bare"))
    report.at_most(3, figures.ratio("ours", "bare"))
    return report.end()


@contextlib.contextmanager
def _open_folder() -> Iterator[Path]:
    """Make a folder through which other users may pass, so that nodes are users."""
    folder = Path(tempfile.mkdtemp(prefix="bench-reaction-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _race(town: Town, receivers: Receivers, number: int) -> dict[str, float]:
    """Kill one lnd; return the ms that each took to notify the receiver."""
    caller = town.api()
    url = receivers.url("prompt", number)
    wish = {
        "name": f"racer {number}",
        "network": "testnet",
        "type": "standard",
        "settings": {**SETTINGS, "webhook": url},
    }
    _, made = await caller.call("POST", town.nodes, wish, key=town.key)
    await town.until(caller, made["node_id"], "waiting_init")
    path = f"{town.nodes}/{made['node_id']}"
    _, shown = await caller.call("GET", path, key=town.key)
    running = processes.holder(town.home / "nodes" / made["node_id"] / "claim")
    assert running is not None
    host = _host(town, running.pid)
    names = {"bare": f"bare-{number}", "bare again": f"again-{number}"}
    observers = [
        Observer(receivers, name, host, town.trusts) for name in names.values()
    ]
    watching = [
        asyncio.create_task(each.observe(shown["api_endpoint"])) for each in observers
    ]
    await asyncio.gather(*(each.listening.wait() for each in observers))
    await asyncio.sleep(0.3)
    receivers.heard()
    began = time.monotonic()
    os.kill(running.pid, signal.SIGKILL)
    await asyncio.gather(*watching)
    heard: list[Heard] = []
    names["ours"] = str(number)
    paths = {f"/prompt/{path}": name for name, path in names.items()}

    def all_there() -> bool:
        heard.extend(h for h in receivers.heard() if "stopped" in h.body)
        return {each.path for each in heard} >= set(paths)

    await _until(all_there)
    await town.delete(caller, made["node_id"])
    caller.close()
    return {paths[each.path]: (each.at_s - began) * 1000 for each in heard}


def _host(town: Town, pid: int) -> str:
    """Find the address that an lnd listens on."""
    rest = Path(f"/proc/{pid}/net/tcp").read_text()
    inodes = {
        link.readlink().name.removeprefix("socket:[").rstrip("]")
        for link in Path(f"/proc/{pid}/fd").iterdir()
    }
    for line in rest.splitlines()[1:]:
        fields = line.split()
        address, _, port = fields[1].partition(":")
        if int(port, 16) == 18_080 and fields[9] in inodes:
            host = bytes.fromhex(address)[::-1]
            if f"{host[0]}.{host[1]}" == town.network:
                return ".".join(map(str, host))
    raise AssertionError("lnd does not listen")


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.02)


async def main(parts: Sequence[str], rounds: int) -> int:
    """Run the chosen parts; return 1 if one of them misses a goal."""
    logs.configure(form="text", level="error")
    garbage.freeze()  # as the platform does when it starts
    missed = 0
    if "reaction" in parts:
        missed |= await reaction(pairs=max(4 * rounds, 1))
    if "crowd" in parts:
        missed |= await crowd(rounds)
    if "trouble" in parts:
        missed |= await trouble(rounds)
    if "parked" in parts:
        missed |= await parked()
    return missed


if __name__ == "__main__":
    wanted = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    every = ["reaction", "crowd", "trouble", "parked"]
    wanted.add_argument("parts", nargs="*", metavar="|".join(every))
    wanted.add_argument("--rounds", type=int, default=7)
    given = wanted.parse_args()
    if unknown := set(given.parts) - set(every):
        wanted.error(f"there is no {', '.join(unknown)}; there are {', '.join(every)}")
    sys.exit(uvloop.run(main(given.parts or every, given.rounds)))
