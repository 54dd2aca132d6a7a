"""The private chain's hands: mine, fund, pay, register, look."""

import asyncio
import os
import shlex
from pathlib import Path
from typing import Any

import click

from leyden import settings
from leyden.cli.output import as_json, print_fields, print_json, print_rows
from leyden.devnet import first_run, hands, trading
from leyden.errors import SetupError

_home = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds everything; otherwise LEYDEN_HOME, or ./.leyden.",
)


@click.group()
def dev() -> None:
    """Play with the private chain that `leyden up` starts."""


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
    _tell({"height": height}, as_json=as_json)


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
    _tell({"txid": txid, "confirmations": confirmations}, as_json=as_json)


@dev.command()
@_home
@as_json
def status(home: Path | None, *, as_json: bool) -> None:
    """Say how high the chain is, and how its nodes and its market are doing."""
    found = asyncio.run(_status(_place(home)))
    if as_json:
        print_json(found)
        return
    print_fields({name: found[name] for name in ("chain", "height", "market")})
    print_rows(found["lnds"], empty="it has no lnd of its own")
    for name in ("pools", "bids", "batches"):
        if rows := found.get(name):
            print(f"\n{name}")
            print_rows(rows, empty="")


async def _status(home: Path) -> dict[str, Any]:
    return {**await hands.status(home), **await trading.status(home)}


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
    _tell({"registered": True}, as_json=as_json)


@dev.command()
@_home
@as_json
def asks(home: Path | None, *, as_json: bool) -> None:
    """List the channels that are for sale in the auction."""
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
    _tell(asyncio.run(trading.pay(_place(home), invoice)), as_json=as_json)


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
    _tell({"txid": txid}, as_json=as_json)


@dev.command()
@_home
@as_json
def tick(home: Path | None, *, as_json: bool) -> None:
    """Let the auction match now, and say what came of it."""
    _tell(asyncio.run(trading.tick(_place(home))), as_json=as_json)


def _place(home: Path | None) -> Path:
    if home is not None:
        return home.absolute()
    return settings.load(os.environ).home_path


def _tell(fields: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(fields)
    else:
        print_fields(fields)


@dev.command()
@_home
def env(home: Path | None) -> None:
    """Print what a shell needs to call the API.

    \b
    eval "$(leyden dev env)"
    """
    kept = first_run.read(_place(home))
    if not kept:
        raise SetupError("there is nothing here yet; `leyden up` makes it")
    for variable, field in _VARIABLES.items():
        print(f"export {variable}={shlex.quote(str(kept.get(field, '')))}")


_VARIABLES = {
    "LEYDEN_URL": "base_url",
    "LEYDEN_KEY": "api_key",
    "LEYDEN_ORGANIZATION": "organization_id",
    "LEYDEN_CA": "ca_path",
}
