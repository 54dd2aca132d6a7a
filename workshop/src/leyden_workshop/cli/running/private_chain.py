"""What is done with a private chain."""

import asyncio
import functools
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import click

from leyden.app.cli.running.local_platform import settings_of
from leyden.base import logs, settings
from leyden.base.cli.building import building
from leyden.base.cli.output import print_fields, print_json, print_one, print_rows
from leyden.base.daemons import build as builds
from leyden.base.daemons.operator_binaries import own as owned
from leyden.base.daemons.progress import BuildState, BuildStep, Progress
from leyden.base.opening import opened
from leyden.base.settings import words
from leyden.errors import SetupError
from leyden_workshop.devnet import actions, first_run, overview, trading
from leyden_workshop.devnet import scenario as stories


def mine(blocks: int, home: Path | None, *, as_json: bool) -> None:
    """Mine BLOCKS blocks."""
    height = asyncio.run(actions.mine(_layout(home), blocks))
    print_one({"height": height}, as_json=as_json)


def fund(
    address: str, sats: int, confirmations: int, home: Path | None, *, as_json: bool
) -> None:
    """Send SATS satoshis from the chain's faucet to ADDRESS."""
    txid = asyncio.run(
        actions.fund(_layout(home), address, sats, confirmations=confirmations)
    )
    print_one({"txid": txid, "confirmations": confirmations}, as_json=as_json)


def status(home: Path | None, *, wait: bool, as_json: bool) -> None:
    """Print the chain's height and the state of its nodes and market."""
    logs.configure(form="text", level="error")  # its lines say what is away
    layout = _layout(home)
    if wait:
        asyncio.run(stories.market_opens(layout))
    found = asyncio.run(_status(layout))
    if as_json:
        print_json(found)
        return
    fields = ("chain", "height", "market", "market_waits_for")
    print_fields({name: found[name] for name in fields if name in found})
    print_rows(found["lnds"], empty="the private chain has no lnd")
    for name in ("pools", "tickets", "bids", "batches"):
        if rows := found.get(name):
            print(f"\n{name}")
            print_rows(rows, empty="")


async def _status(home: Path) -> dict[str, Any]:
    return {**await actions.status(home), **await overview.status(home)}


def register(ticket: str, home: Path | None, *, as_json: bool) -> None:
    """Register the sidecar TICKET of an order, as the customer."""
    asyncio.run(trading.register(_layout(home), ticket))
    print_one({"registered": True}, as_json=as_json)


def asks(home: Path | None, *, as_json: bool) -> None:
    """List the channels for sale in the auction."""
    rows = asyncio.run(trading.asks(_layout(home)))
    if as_json:
        print_json({"asks": rows})
    else:
        print_rows(rows, empty="nobody sells channels; see `leyden dev status`")


def pay(invoice: str, home: Path | None, *, as_json: bool) -> None:
    """Pay a Lightning INVOICE, as the customer."""
    print_one(asyncio.run(trading.pay(_layout(home), invoice)), as_json=as_json)


def send(address: str, sats: int, home: Path | None, *, as_json: bool) -> None:
    """Send SATS of the customer's satoshis to ADDRESS, unconfirmed."""
    txid = asyncio.run(trading.send(_layout(home), address, sats))
    print_one({"txid": txid}, as_json=as_json)


def tick(home: Path | None, *, as_json: bool) -> None:
    """Run an auction batch now, and print its result."""
    print_one(asyncio.run(trading.tick(_layout(home))), as_json=as_json)


def scenario(
    name: str, capacity: int, home: Path | None, *, hosted: bool, as_json: bool
) -> None:
    """Buy a channel from beginning to end, with real programs."""
    layout = _layout(home)
    say = click.echo if not as_json else functools.partial(click.echo, err=True)
    account = asyncio.run(_account(layout))
    if name != "first-channel":
        lsps1 = name == "lsps1"
        if lsps1 and hosted:
            raise click.UsageError(
                "--hosted: can't be used with lsps1, which is for nodes elsewhere"
            )
        played = stories.direct_channel(
            layout,
            say,
            account=account,
            capacity=capacity,
            hosted=hosted,
            lsps1=lsps1,
        )
    else:
        with building() as progress:
            poold = asyncio.run(_poold(progress)) if hosted else None
        played = stories.first_channel(
            layout, say, account=account, capacity=capacity, poold=poold
        )
    found = asyncio.run(played)
    print_one(found, as_json=as_json)


async def _account(home: Path) -> first_run.FirstAccount:
    if not first_run.read(home):
        raise SetupError("no private chain here yet; `leyden up` starts one")
    async with opened(settings_of(home)) as platform:
        return await first_run.ensure_scenarios(platform)


async def _poold(progress: Progress) -> Path:
    def quieter(step: BuildStep) -> None:
        if step.state is not BuildState.READY:
            progress(step)

    own = await owned(words(settings.load(os.environ).own_binaries))
    cache = builds.default_cache(os.environ)
    return await builds.binary("poold", cache=cache, own=own, progress=quieter)


def _layout(home: Path | None) -> Path:
    if home is not None:
        return home.absolute()
    return settings.load(os.environ).home_path


def env(home: Path | None) -> None:
    """Print shell variables to call the API and to find `leyden` itself."""
    account = first_run.read(_layout(home))
    if not account:
        raise SetupError("no private chain here yet; `leyden up` starts one")
    for variable, field in _VARIABLES.items():
        print(f"export {variable}={shlex.quote(str(account.get(field, '')))}")
    gate = account.get("gateway", {})
    if gate:
        print(f"export LEYDEN_GATEWAY={gate['host']}:{gate['rest_port']}")
    if shutil.which("leyden") is None and (_CLONE / "leyden").is_file():
        print(f'export PATH={shlex.quote(str(_CLONE))}:"$PATH"')


_CLONE = Path(__file__).parents[5]
_VARIABLES = {
    "LEYDEN_URL": "base_url",
    "LEYDEN_KEY": "api_key",
    "LEYDEN_ORGANIZATION": "organization_id",
    "LEYDEN_CA": "ca_path",
}
