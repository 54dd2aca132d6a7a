"""The parts one by one, for production: the API, what runs by itself, a gateway."""

import asyncio
import os
import signal

import click
import uvloop

from leyden import app, logs, memory, settings
from leyden.app import doors, egress
from leyden.settings import Settings

log = logs.get()


@click.command()
def serve() -> None:
    """Answer the API.

    On PostgreSQL run as many as you like, and `leyden worker` beside them; with local
    nodes in one home, on one machine. On SQLite there is one process, and it does the
    worker's part as well.

    \b
    leyden serve
    """
    given = egress.demanded(_configured())
    alone = given.database.startswith("sqlite:")
    if alone:
        with app.only_one(given):
            uvloop.run(until_told(given, api=True, loops=True))
    else:
        uvloop.run(until_told(given, api=True, loops=False))


@click.command()
def worker() -> None:
    """Do what runs by itself: nodes, payments, webhooks. Any number on PostgreSQL.

    They share the nodes of one home, on one machine.

    \b
    leyden worker
    """
    given = egress.demanded(_configured())
    if given.database.startswith("sqlite:"):
        raise click.UsageError("on SQLite `leyden serve` does the worker's part too")
    uvloop.run(until_told(given, api=False, loops=True))


@click.command()
def gateway() -> None:
    """Let callers in to nodes, on a machine of its own: an Envoy that asks the API.

    It goes on when this command ends, with the routes it has.

    \b
    leyden gateway
    """
    given = _configured()
    with app.only_one(given):
        uvloop.run(_gate(given))


async def _gate(given: Settings) -> None:
    envoy = doors.far_envoy(given)
    keeping = asyncio.create_task(envoy.run(), name="gateway")
    told = _told()
    await told.wait()
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def until_told(given: Settings, *, api: bool, loops: bool) -> None:
    """Run until SIGTERM or SIGINT; a second one does not wait for requests."""
    memory.keep_what_is_here()
    told, loop = _told(), asyncio.get_running_loop()
    async with app.running(given, api=api, loops=loops):
        if api:
            log.info("answering", host=given.api_host, port=given.api_port)
        await told.wait()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        log.info("stopping")


def _told() -> asyncio.Event:
    """Give what is set by SIGTERM and SIGINT."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    return told


def _configured() -> Settings:
    given = settings.load(os.environ)
    logs.configure(form=given.log_format, level=given.log_level)
    return given
