"""Buttons of a private chain: mine a block, pay an invoice. Other chains have none."""

from starlette.responses import JSONResponse, Response

from leyden.base.chain_controls import ChainControls
from leyden.base.pages.visits import Visit, redirect
from leyden.errors import NotFound


async def mine(visit: Visit) -> Response:
    """Mine a block, and return to the page that asked."""
    await chain_of(visit).mine(1)
    back = visit.form.text("back")
    return redirect(back if back.startswith(f"{visit.root}/") else visit.root)


async def pay(visit: Visit) -> Response:
    """Pay an invoice as the chain's customer; 0 satoshis: it is on its way."""
    sats = await chain_of(visit).pay(visit.form.text("invoice"))
    return JSONResponse({"paid_sats": sats or 0})


def chain_of(visit: Visit) -> ChainControls:
    """Return the private chain; raise NotFound on any other chain."""
    if (chain := visit.platform.private_chain) is None:
        raise NotFound
    return chain
