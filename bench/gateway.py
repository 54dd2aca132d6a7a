"""B6: the cost of the gateway, against minimal Envoy and HAProxy configurations.

All of them pass TLS through to the same real lnd, by name, with the same number of
threads, and take turns in one run. `wrk` asks for /v1/state, 16 connections at a time:
once keeping them, once with a new one for every request.

    ./leyden bench gateway [--rounds 16] [--seconds 1] [--threads 1]

It needs `wrk` and, for its part, `haproxy` (Debian has both), and an lnd that has been
built; what is missing is said and left out.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from bench.measure import Figures, Report, cpu_seconds, resident_kib, turns

from leyden.base import processes
from leyden.nodes.certificates.authority import open_or_create
from leyden.nodes.gateway.bootstrap import Bootstrap
from leyden.nodes.gateway.filters import TYPE
from leyden.nodes.gateway.listener_options import ListenerOptions
from leyden.nodes.gateway.local import LocalGateway
from leyden.nodes.gateway.routes import Listener, Route, UpstreamAddress
from leyden.nodes.gateway.supervisor import program

HOST = "127.0.0.1"
NAME = "localhost"  # wrk takes the name for the hello from the URL, so it must resolve
FEW, MANY = 10, 5_000
CONNECTIONS = 16


@dataclass(frozen=True)
class Contender:
    """A proxy."""

    port: int
    pid: int


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        port: int = taken.getsockname()[1]
        return port


def wrk(port: int, *, seconds: int, keep: bool) -> float:
    """Return answers a second."""
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s"]
    words += [] if keep else ["-H", "Connection: close"]
    url = f"https://{NAME}:{port}/v1/state"
    said = subprocess.run(
        [*words, url], check=True, capture_output=True, text=True
    ).stdout
    for line in said.splitlines():
        if "Non-2xx" in line:
            raise SystemExit(f"port {port} did not answer well: {line}")
        if line.startswith("Requests/sec:"):
            return float(line.split()[1])
    raise SystemExit(said)


async def listening(port: int) -> None:
    """Wait until somebody takes connections there."""
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(HOST, port)
                writer.close()
                return
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def running(words: list[str], log: Path, port: int) -> AsyncIterator[Contender]:
    """Run a program until the end."""
    started = await processes.spawn(words, log=log)
    try:
        await listening(port)
        yield Contender(port, started.pid)
    finally:
        await processes.stop(started, grace_s=20)


def lnd_program() -> Path | None:
    """Find an lnd that has been built here."""
    cache = Path(os.environ.get("LEYDEN_CACHE", Path.home() / ".cache" / "leyden"))
    built = sorted(cache.glob("daemons/lnd-0.20.2-*/bin/lnd"))
    return built[0] if built else None


def lnd_words(lnd: Path, home: Path, port: int) -> list[str]:
    """Set up an lnd without a wallet: it answers /v1/state."""
    home.mkdir()
    now = datetime.now(UTC)
    tls = open_or_create(home / "authority", now=now).issue(NAME, now=now)
    (home / "tls.cert").write_bytes(tls.chain_pem)
    (home / "tls.key").write_bytes(tls.key_pem)
    words = [str(lnd), f"--lnddir={home}", "--bitcoin.simnet", "--nolisten"]
    words += ["--bitcoin.node=neutrino", f"--rpclisten={HOST}:{free_port()}"]
    return [*words, f"--restlisten={HOST}:{port}"]


def plain_envoy(port: int, lnd: int) -> dict[str, Any]:
    """Write a minimal Envoy configuration: one name, one cluster."""

    def at(number: int) -> dict[str, Any]:
        return {"socket_address": {"address": HOST, "port_value": number}}

    filters = TYPE + "envoy.extensions.filters."
    inspector = {"@type": filters + "listener.tls_inspector.v3.TlsInspector"}
    proxy = {
        "@type": filters + "network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": "lnd",
        "cluster": "lnd",
    }
    listener = {
        "name": "plain",
        "address": at(port),
        "listener_filters": [{"name": "tls", "typed_config": inspector}],
        "filter_chains": [
            {
                "filter_chain_match": {"server_names": [NAME]},
                "filters": [{"name": "tcp", "typed_config": proxy}],
            }
        ],
    }
    endpoint = {"endpoint": {"address": at(lnd)}}
    cluster = {
        "name": "lnd",
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": "lnd",
            "endpoints": [{"lb_endpoints": [endpoint]}],
        },
    }
    return {"static_resources": {"listeners": [listener], "clusters": [cluster]}}


def plain_haproxy(port: int, lnd: int, threads: int) -> str:
    """Write the same for HAProxy."""
    return f"""
global
    nbthread {threads}
    maxconn 4096
defaults
    mode tcp
    timeout connect 3s
    timeout client 1h
    timeout server 1h
frontend plain
    bind {HOST}:{port}
    tcp-request inspect-delay 5s
    tcp-request content accept if {{ req.ssl_hello_type 1 }}
    use_backend lnd if {{ req.ssl_sni -i {NAME} }}
backend lnd
    server lnd {HOST}:{lnd}
"""


def routes(number: int, lnd: int) -> list[Route]:
    """Return routes, one of them to lnd; the others lead nowhere."""
    others = [
        Route(
            node_id=f"node{i}",
            name=f"node{i}.nodes.test",
            whitelist=("198.51.100.7",),
            rest=UpstreamAddress(f"127.{i // 65536}.{i // 256 % 256}.{i % 256}", 8080),
            grpc=None,
        )
        for i in range(1, number)
    ]
    mine = Route(
        node_id="lnd",
        name=NAME,
        whitelist=("127.0.0.1",),
        rest=UpstreamAddress(HOST, lnd),
        grpc=None,
    )
    return [mine, *others]


@contextlib.asynccontextmanager
async def our_gateway(
    folder: Path, number: int, lnd: int, threads: int
) -> AsyncIterator[Contender]:
    """Run ours, as the platform runs it."""
    ports = {listener: free_port() for listener in Listener}
    gateway = LocalGateway(
        folder,
        ListenerOptions(ports=ports),
        Bootstrap(),
        envoy=program(),
        workers=threads,
    )
    await gateway.start()
    try:
        await gateway.apply(routes(number, lnd))
        found = processes.holder(folder / "claim")
        assert found is not None
        yield Contender(ports[Listener.REST], found.pid)
    finally:
        await gateway.stop()


async def against_plain(
    report: Report, field: dict[str, Contender], rounds: int, seconds: int
) -> None:
    """Compare requests and new connections with the plain ones."""
    for keep, goals in ((True, (0.95, 0.9)), (False, (0.95, 0.8))):
        what = "requests" if keep else "new connections"
        rates, costs = Figures(), Figures()
        for name in turns(list(field), rounds=rounds):
            contender = field[name]
            before = cpu_seconds(contender.pid)
            rate = await asyncio.to_thread(
                wrk, contender.port, seconds=seconds, keep=keep
            )
            rates.add(name, rate)
            costs.add(name, (cpu_seconds(contender.pid) - before) / rate / seconds)
        for name in field:
            cost = 1e6 * costs.median(name)
            report.note(f"{what}: {name} {rates.median(name):.0f}/s, {cost:.0f} µs CPU")
        plain = "plain Envoy"
        report.null(rates.ratio("plain Envoy again", plain, what=what))
        ours = rates.ratio("ours", plain, what=f"{what}, ours / plain Envoy")
        report.at_least(goals[0], ours)
        if "HAProxy" in field:
            ours = rates.ratio("ours", "HAProxy", what=f"{what}, ours / HAProxy")
            report.at_least(goals[1], ours)


async def against_few(
    report: Report, field: dict[str, Contender], rounds: int, seconds: int
) -> None:
    """Compare what a connection costs where there are many routes and where few."""
    times, costs = Figures(), Figures()
    for name in turns(list(field), rounds=rounds):
        contender = field[name]
        before = cpu_seconds(contender.pid)
        rate = await asyncio.to_thread(wrk, contender.port, seconds=seconds, keep=False)
        times.add(name, 1 / rate)
        costs.add(name, (cpu_seconds(contender.pid) - before) / rate / seconds)
    for figures, what in ((times, "time"), (costs, "CPU")):
        title = f"{what} of a connection, {FEW} routes"
        report.null(figures.ratio("few again", "few", what=title))
        title = f"{what} of a connection, {MANY} routes / {FEW}"
        report.at_most(1.05, figures.ratio("many", "few", what=title))
    for name, contender in field.items():
        report.note(f"{name}: {resident_kib(contender.pid) / 1024:.0f} MiB")


async def main() -> int:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    built = lnd_program()
    if shutil.which("wrk") is None or built is None:
        print("B6 needs wrk (apt-get install wrk) and a built lnd; not measured")
        return 2
    report = Report("B6 gateway")
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        lnd = free_port()
        words = lnd_words(built, folder / "lnd", lnd)
        await stack.enter_async_context(running(words, folder / "lnd.log", lnd))

        field: dict[str, Contender] = {}
        ports = {name: free_port() for name in ("plain Envoy", "HAProxy")}
        config = folder / "envoy.json"
        config.write_bytes(msgspec.json.encode(plain_envoy(ports["plain Envoy"], lnd)))
        words = [str(program()), "--config-path", str(config), "--disable-hot-restart"]
        words += ["--concurrency", str(given.threads), "--log-level", "error"]
        field["plain Envoy"] = await stack.enter_async_context(
            running(words, folder / "envoy.log", ports["plain Envoy"])
        )
        haproxy = shutil.which("haproxy") or shutil.which("/usr/sbin/haproxy")
        if haproxy is not None:
            written = folder / "haproxy.cfg"
            written.write_text(plain_haproxy(ports["HAProxy"], lnd, given.threads))
            words = [haproxy, "-db", "-f", str(written)]
            field["HAProxy"] = await stack.enter_async_context(
                running(words, folder / "haproxy.log", ports["HAProxy"])
            )
        else:
            report.note("HAProxy is not installed (apt-get install haproxy): left out")
        ours = {
            name: await stack.enter_async_context(
                our_gateway(folder / name, number, lnd, given.threads)
            )
            for name, number in (("few", FEW), ("many", MANY))
        }
        field["ours"] = ours["few"]
        field["plain Envoy again"] = field["plain Envoy"]
        await against_plain(report, field, given.rounds, given.seconds)
        ours["few again"] = ours["few"]
        await against_few(report, ours, given.rounds, given.seconds)
    return report.end()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
