"""The production processes: API server, background worker, gateway."""

import asyncio
import logging
import os
import signal
from pathlib import Path

import click
import uvloop

from leyden.app.installation import running
from leyden.base import garbage, logs, settings
from leyden.base.settings import Settings
from leyden.nodes.wiring import egress, gateways
from leyden.nodes.wiring.home import only_one

log = logging.getLogger(__name__)


def serve() -> None:
    """Run the API server."""
    given = egress.demanded(_configured())
    alone = given.database.startswith("sqlite:")
    if alone:
        with only_one(given):
            uvloop.run(until_stopped(given, api=True, loops=True))
    else:
        uvloop.run(until_stopped(given, api=True, loops=False))


def worker() -> None:
    """Run background jobs: nodes, payments, webhooks."""
    given = egress.demanded(_configured())
    if given.database.startswith("sqlite:"):
        raise click.UsageError(
            "on SQLite, `leyden serve` also does the work of `leyden worker`"
        )
    uvloop.run(until_stopped(given, api=False, loops=True))


def gateway(prepare: Path | None) -> None:
    """Run the gateway to nodes on a machine of its own, or prepare one."""
    given = _configured()
    if prepare is not None:
        gateways.prepare_far(given, prepare)
        return
    with only_one(given):
        uvloop.run(_gate(given))


async def _gate(given: Settings) -> None:
    envoy = gateways.far_envoy(given)
    keeping = asyncio.create_task(envoy.run(), name="gateway")
    stop = _stop_event()
    await stop.wait()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def until_stopped(given: Settings, *, api: bool, loops: bool) -> None:
    """Run until SIGTERM or SIGINT; a second signal skips the grace period."""
    garbage.freeze()
    stop, loop = _stop_event(), asyncio.get_running_loop()
    async with running(given, api=api, loops=loops):
        if api:
            log.info(
                "answering", extra={"host": given.api_host, "port": given.api_port}
            )
        await stop.wait()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        log.info("stopping")


def _stop_event() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _configured() -> Settings:
    given = settings.load(os.environ)
    logs.configure(form=given.log_format, level=given.log_level)
    return given
