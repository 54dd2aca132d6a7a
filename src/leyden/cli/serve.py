"""The parts one by one, for production: the API, and what runs by itself."""

import asyncio
import os
import signal

import click
import structlog
import uvloop

from leyden import app, logs, settings
from leyden.settings import Settings

log = structlog.get_logger()


@click.command()
def serve() -> None:
    """Answer the API.

    On PostgreSQL run as many as you like, and `leyden worker` beside them. On SQLite
    there is one process, and it does the worker's part as well.
    """
    given = _configured()
    alone = given.database.startswith("sqlite:")
    if alone:
        with app.only_one(given):
            uvloop.run(until_told(given, api=True, loops=True))
    else:
        uvloop.run(until_told(given, api=True, loops=False))


@click.command()
def worker() -> None:
    """Do what runs by itself: nodes, payments, webhooks. Any number on PostgreSQL."""
    given = _configured()
    if given.database.startswith("sqlite:"):
        raise click.UsageError("on SQLite `leyden serve` does the worker's part too")
    uvloop.run(until_told(given, api=False, loops=True))


async def until_told(given: Settings, *, api: bool, loops: bool) -> None:
    """Run until SIGTERM or SIGINT; a second one does not wait for requests."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with app.running(given, api=api, loops=loops):
        if api:
            log.info("answering", host=given.api_host, port=given.api_port)
        await told.wait()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        log.info("stopping")


def _configured() -> Settings:
    given = settings.load(os.environ)
    logs.configure(form=given.log_format, level=given.log_level)
    return given
