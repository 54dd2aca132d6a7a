"""`leyden unlocker`: unlocks nodes, as a webhook endpoint or by asking them."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

import click

from leyden.base import logs
from leyden.base.cli.groups import LazyCommand, LazyGroup
from leyden.base.rules.times import utc_now
from leyden.customer.unlocker.nodes import (
    PASSWORD_VARIABLE,
    SECRET_VARIABLE,
    SecretSource,
    UnlockedNode,
    from_environment,
    load,
)
from leyden.customer.unlocker.receiver import Unlocker, receiving, serving_tls
from leyden.errors import SetupError

log = logging.getLogger(__name__)

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


_SERVICE = {
    "install": LazyCommand(
        "leyden.customer.unlocker.service",
        "Set up this machine to unlock NODE whenever it is locked.",
    ),
    "check": LazyCommand(
        "leyden.customer.unlocker.service",
        "Check whether the installed unlocker would work, without unlocking anything.",
    ),
}


@click.group(cls=LazyGroup, lazy=_SERVICE, invoke_without_command=True)
@click.pass_context
@click.option(
    "--config",
    type=_FILE,
    help="TOML file that lists nodes. For one node, use the options below.",
)
@click.option("--api", help="The node's api_endpoint.")
@click.option("--secret-file", type=_FILE, help="File with the node's webhook_secret.")
@click.option("--password-file", type=_FILE, help="File with the wallet password.")
@click.option("--ca-file", type=_FILE, help="PEM file of the node's certificate.")
@click.option(
    "--connect", default="", help="HOST:PORT of the gateway. Default: API:8080."
)
@click.option(
    "--listen",
    default="127.0.0.1:9911",
    show_default=True,
    help="HOST:PORT to listen on.",
)
@click.option(
    "--tls-certificate",
    type=_FILE,
    help="PEM file of the TLS certificate chain to serve HTTPS with.",
)
@click.option("--tls-key", type=_FILE, help="PEM file of the TLS private key.")
@click.option(
    "--concurrency",
    "at_once",
    type=click.IntRange(min=1),
    help="Maximum number of nodes to unlock at a time. Default: number of cores.",
)
@click.option(
    "--timeout",
    "give_up_after_s",
    type=click.IntRange(min=1),
    default=600,
    show_default=True,
    help="Seconds to retry a node that doesn't respond.",
)
@click.option(
    "--require-signature", is_flag=True, help="Reject events without a signature."
)
@click.option(
    "--every",
    "every_s",
    type=click.IntRange(min=5),
    help="Seconds after which to ask each node whether it is locked. Needs no webhook.",
)
def unlocker(
    ctx: click.Context,
    config: Path | None,
    api: str | None,
    secret_file: Path | None,
    password_file: Path | None,
    ca_file: Path | None,
    connect: str,
    listen: str,
    tls_certificate: Path | None,
    tls_key: Path | None,
    at_once: int | None,
    give_up_after_s: int,
    *,
    require_signature: bool,
    every_s: int | None,
) -> None:
    """Unlock your nodes automatically, from your own machine.

    To set it up in one step: leyden unlocker install NODE. Or run it as an endpoint
    for the node's `webhook`. The password comes from a file, from
    LEYDEN_UNLOCK_PASSWORD, or from a prompt; the webhook secret comes from a file, from
    LEYDEN_UNLOCK_SECRET, or from a prompt. A file can have several secrets, one per
    line. With --every, it asks the nodes itself, and needs neither webhook nor secret.

    \b
    leyden unlocker --api harbour-light.nodes.example.org \\
      --secret-file secret --password-file password --ca-file ca.pem

    \b
    [[node]]                       # in the --config file, one per node
    api = "harbour-light.nodes.example.org"
    secret_file = "harbour.secret"
    password_file = "harbour.password"
    ca_file = "harbour.pem"
    """
    if ctx.invoked_subcommand is not None:
        return
    logs.configure(form="text", level="info", stream=sys.stdout)
    if config is not None:
        nodes = load(config)
    else:
        polled = every_s is not None
        nodes = [_one(api, secret_file, password_file, ca_file, connect, polled=polled)]
    for node in nodes:
        if node.is_open_to_others:
            log.warning(
                "other users can read the key files; chmod 600",
                extra={"node": node.api},
            )
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise SetupError("--listen: must be HOST:PORT, for example 127.0.0.1:9911")
    asyncio.run(
        _run(
            nodes,
            host=host.strip("[]"),
            port=int(port),
            tls_files=(tls_certificate, tls_key),
            at_once=at_once or os.cpu_count() or 1,
            give_up_after_s=give_up_after_s,
            must_be_signed=require_signature,
            every_s=every_s,
        )
    )


def _one(
    api: str | None,
    secret_file: Path | None,
    password_file: Path | None,
    ca_file: Path | None,
    connect: str,
    *,
    polled: bool,
) -> UnlockedNode:
    if api is None or ca_file is None:
        raise SetupError(
            "name one node with --api and --ca-file, or several nodes with --config"
        )
    return UnlockedNode(
        api=api.lower(),
        secret=None
        if polled and secret_file is None
        else _source(secret_file, SECRET_VARIABLE, "webhook secret"),
        password=_source(password_file, PASSWORD_VARIABLE, "wallet password"),
        ca_file=ca_file,
        connect=connect,
    ).check()


def _source(file: Path | None, variable: str, what: str) -> SecretSource:
    if file is not None:
        return SecretSource(file=file)
    if given := from_environment(variable):
        return SecretSource(given=given)
    if not sys.stdin.isatty():
        raise SetupError(f"the {what} is missing: name a file, or set {variable}")
    return SecretSource(given=click.prompt(what.capitalize(), hide_input=True))


async def _run(
    nodes: list[UnlockedNode],
    *,
    host: str,
    port: int,
    tls_files: tuple[Path | None, Path | None],
    at_once: int,
    give_up_after_s: float,
    must_be_signed: bool,
    every_s: float | None,
) -> None:
    tls = serving_tls(*tls_files)
    working = Unlocker(
        nodes,
        clock=utc_now,
        at_once=at_once,
        give_up_after_s=give_up_after_s,
        must_be_signed=must_be_signed,
        is_polling=every_s is not None,
    )
    told_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C cancels this
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, told_to_stop.set)
    async with contextlib.AsyncExitStack() as stack:
        if any(node.secret for node in nodes):
            bound = await stack.enter_async_context(
                receiving(working, host=host, port=port, tls=tls)
            )
            scheme = "http" if tls is None else "https"
            url = f"{scheme}://{host}:{bound}/"
            log.info("listening on %s", url, extra={"nodes": len(nodes)})
        elif every_s is None:
            raise SetupError("no node has a webhook secret: use --every SECONDS")
        while not told_to_stop.is_set():
            working.begin_all()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(told_to_stop.wait(), every_s)
        await working.close()
