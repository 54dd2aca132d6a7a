"""The private chain's hands: mine, fund, pay, register, look."""

import asyncio
import functools
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import click

from leyden import logs, settings
from leyden.app.courier import words
from leyden.cli.building import building
from leyden.cli.groups import Group
from leyden.cli.output import as_json, print_fields, print_json, print_one, print_rows
from leyden.daemons import build as builds
from leyden.daemons.own import own as owned
from leyden.daemons.progress import Progress, State, Step
from leyden.devnet import first_run, hands, overview, trading
from leyden.devnet import scenario as stories
from leyden.errors import SetupError

_home = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds everything; otherwise LEYDEN_HOME, or ./.leyden.",
)


@click.group(cls=Group)
def dev() -> None:
    """Play with the private chain that `leyden up` starts."""
    # What these commands have to say they print; the rest is for a platform's log.
    logs.configure(form="text", level="warning")


@dev.command()
@click.argument("blocks", type=int, default=1)
@_home
@as_json
def mine(blocks: int, home: Path | None, *, as_json: bool) -> None:
    """Mine BLOCKS blocks.

    \b
    leyden dev mine 6
    """
    height = asyncio.run(hands.mine(_place(home), blocks))
    print_one({"height": height}, as_json=as_json)


@dev.command()
@click.argument("address")
@click.argument("sats", type=int)
@click.option(
    "--confirmations",
    type=click.IntRange(0, 100),
    default=1,
    show_default=True,
    help="How many blocks to mine on it; 0 leaves it unconfirmed.",
)
@_home
@as_json
def fund(
    address: str, sats: int, confirmations: int, home: Path | None, *, as_json: bool
) -> None:
    """Pay SATS satoshis out of thin air to ADDRESS.

    \b
    leyden dev fund sb1p... 1000000
    """
    txid = asyncio.run(
        hands.fund(_place(home), address, sats, confirmations=confirmations)
    )
    print_one({"txid": txid, "confirmations": confirmations}, as_json=as_json)


@dev.command()
@click.option("--wait", is_flag=True, help="Wait until the market is open.")
@_home
@as_json
def status(home: Path | None, *, wait: bool, as_json: bool) -> None:
    """Say how high the chain is, and how its nodes and its market are doing.

    \b
    leyden dev status --wait
    """
    place = _place(home)
    if wait:
        asyncio.run(stories.market_opens(place))
    found = asyncio.run(_status(place))
    if as_json:
        print_json(found)
        return
    print_fields({name: found[name] for name in ("chain", "height", "market")})
    print_rows(found["lnds"], empty="it has no lnd of its own")
    for name in ("pools", "tickets", "bids", "batches"):
        if rows := found.get(name):
            print(f"\n{name}")
            print_rows(rows, empty="")


async def _status(home: Path) -> dict[str, Any]:
    return {**await hands.status(home), **await overview.status(home)}


@dev.command()
@click.argument("ticket")
@_home
@as_json
def register(ticket: str, home: Path | None, *, as_json: bool) -> None:
    """Register the sidecar TICKET of an order, as the customer.

    \b
    leyden dev register sidecar1...
    """
    asyncio.run(trading.register(_place(home), ticket))
    print_one({"registered": True}, as_json=as_json)


@dev.command()
@_home
@as_json
def asks(home: Path | None, *, as_json: bool) -> None:
    """List the channels that are for sale in the auction.

    \b
    leyden dev asks
    """
    rows = asyncio.run(trading.asks(_place(home)))
    if as_json:
        print_json({"asks": rows})
    else:
        print_rows(rows, empty="nobody sells channels; see `leyden dev status`")


@dev.command()
@click.argument("invoice")
@_home
@as_json
def pay(invoice: str, home: Path | None, *, as_json: bool) -> None:
    """Pay a Lightning INVOICE, as the customer.

    \b
    leyden dev pay lnsb...
    """
    print_one(asyncio.run(trading.pay(_place(home), invoice)), as_json=as_json)


@dev.command()
@click.argument("address")
@click.argument("sats", type=int)
@_home
@as_json
def send(address: str, sats: int, home: Path | None, *, as_json: bool) -> None:
    """Pay SATS satoshis of the customer's to ADDRESS, unconfirmed.

    \b
    leyden dev send sb1p... 1000000
    """
    txid = asyncio.run(trading.send(_place(home), address, sats))
    print_one({"txid": txid}, as_json=as_json)


@dev.command()
@_home
@as_json
def tick(home: Path | None, *, as_json: bool) -> None:
    """Let the auction match now, and say what came of it.

    \b
    leyden dev tick
    """
    print_one(asyncio.run(trading.tick(_place(home))), as_json=as_json)


@dev.command()
@click.argument("name", type=click.Choice(["first-channel"]))
@click.option(
    "--capacity",
    type=int,
    default=1_000_000,
    show_default=True,
    help="The size of the channel, in satoshis.",
)
@click.option("--hosted", is_flag=True, help="A hosted node gets the channel.")
@_home
@as_json
def scenario(
    name: str, capacity: int, home: Path | None, *, hosted: bool, as_json: bool
) -> None:
    """Play a story with real programs from its beginning to its end.

    first-channel: an inbound channel is ordered, paid over Lightning, registered,
    matched in the auction, and active. The buyer is the chain's customer; with
    --hosted it is the owner of a new hosted node, with a poold beside it.

    \b
    leyden dev scenario first-channel
    """
    place = _place(home)
    with building() as progress:
        poold = asyncio.run(_poold(progress)) if hosted else None
    say = click.echo if not as_json else functools.partial(click.echo, err=True)
    plays = {"first-channel": stories.first_channel}
    found = asyncio.run(plays[name](place, say, capacity=capacity, poold=poold))
    print_one(found, as_json=as_json)


async def _poold(progress: Progress) -> Path:
    def quieter(step: Step) -> None:
        if step.state is not State.READY:
            progress(step)

    own = await owned(words(settings.load(os.environ).own_binaries))
    cache = builds.default_cache(os.environ)
    return await builds.binary("poold", cache=cache, own=own, progress=quieter)


def _place(home: Path | None) -> Path:
    if home is not None:
        return home.absolute()
    return settings.load(os.environ).home_path


@dev.command()
@_home
def env(home: Path | None) -> None:
    """Print what a shell needs to call the API, and to find `leyden` itself.

    \b
    eval "$(leyden dev env)"
    """
    kept = first_run.read(_place(home))
    if not kept:
        raise SetupError("there is nothing here yet; `leyden up` makes it")
    for variable, field in _VARIABLES.items():
        print(f"export {variable}={shlex.quote(str(kept.get(field, '')))}")
    gate = kept.get("gateway", {})
    if gate:
        print(f"export LEYDEN_GATEWAY={gate['host']}:{gate['rest_port']}")
    if shutil.which("leyden") is None and (_CLONE / "leyden").is_file():
        print(f'export PATH={shlex.quote(str(_CLONE))}:"$PATH"')


_CLONE = Path(__file__).parents[3]
_VARIABLES = {
    "LEYDEN_URL": "base_url",
    "LEYDEN_KEY": "api_key",
    "LEYDEN_ORGANIZATION": "organization_id",
    "LEYDEN_CA": "ca_path",
}
