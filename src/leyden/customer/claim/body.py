"""The body of `leyden channels use-ticket`: what must be right first."""

import asyncio
import os
import re
from pathlib import Path

import click
import msgspec

from leyden.base.cli import exit_codes
from leyden.base.cli.building import binary
from leyden.base.cli.output import print_fields, print_json
from leyden.customer.claim import recipient
from leyden.customer.claim.owner import NodeOwner
from leyden.customer.claim.run import Claiming
from leyden.customer.claim.state import ClaimFolder, TicketClaim
from leyden.customer.order_output import is_direct
from leyden.customer.progress import waiting
from leyden.customer.session import ApiSession
from leyden.customer.wallet.reaching import admin_macaroon, wallet_password
from leyden.errors import Conflict, Malformed
from leyden.schemas.flow import OrderAnswer

_ID = re.compile(r"[0-9A-Za-z-]{1,64}")
# What to do about an order that has no ticket to be registered.
_NOT_YET = {
    "waiting_payment": "pay the order first: leyden channels show {id}",
    "expired": (
        "the order expired unpaid; place a new one: leyden channels order {capacity}"
    ),
    "failed": (
        "a held Lightning payment was returned, and everything else you paid is "
        "credit; place a new order: leyden channels order {capacity}"
    ),
    "cancelled": (
        "your payment is credit; place a new order: leyden channels order {capacity}"
    ),
}


def use_ticket(
    session: ApiSession,
    order_id: str,
    *,
    node: str,
    password_file: Path | None,
    macaroon_file: Path | None,
    within_s: int,
    as_json: bool,
) -> None:
    """Claim the order's ticket for a node, and print its channel."""
    if not _ID.fullmatch(order_id):
        raise Malformed("ORDER: not an order's id; see `leyden channels list`")
    folder = ClaimFolder(order_id, os.environ)
    so_far = folder.load()
    order = session.client.flow.status(order_id)
    ended = _ended(order)
    if ended and (so_far is None or not so_far.root_key):
        folder.remove()
        raise exit_codes.Refusal(ended, status=Conflict.status)
    _refuse_without_ticket(order, so_far)
    found = recipient.choose(session, node, so_far)
    password = "" if macaroon_file else wallet_password(password_file)
    admin = admin_macaroon(session, found, macaroon_file, password)
    owner = NodeOwner(session, found, admin)
    if ended:
        if owner.revoked(folder):
            folder.remove()
        raise exit_codes.Refusal(ended, status=Conflict.status)
    market = recipient.market_of(session, found, admin)
    program = binary("poold")
    with waiting("claim") as progress:
        claiming = Claiming(
            session=session,
            order_id=order_id,
            node=found,
            market=market,
            owner=owner,
            folder=folder,
            program=program,
            progress=progress,
            within_s=within_s,
        )
        try:
            point = asyncio.run(claiming.run())
        except asyncio.CancelledError:  # SIGTERM, or SIGHUP
            raise KeyboardInterrupt from None
        finally:
            if folder.load() is not None:
                again = f"leyden channels use-ticket {order_id}"
                click.echo(f"To continue with this order: {again}", err=True)
    shown = {
        "order_id": order_id,
        "node_id": found.node_id,
        "node_name": found.node_name,
        "channel_point": point,
    }
    if as_json:
        print_json(shown)
        return
    print_fields(shown)
    print(
        "next: wait until the channel has enough confirmations: leyden wallet "
        f"channels {found.node_name!r}"
    )


def _ended(order: OrderAnswer) -> str:
    """Return why this order gets no channel, with the next step; or ""."""
    if is_direct(order):
        return (
            "this order has no ticket, because it names its node: the channel opens "
            f"without poold; see leyden channels show {order.order_id}"
        )
    if order.status not in _NOT_YET:
        return ""
    how = _NOT_YET[order.status].format(id=order.order_id, capacity=order.capacity)
    return f"the order is {order.status}: {how}"


def _refuse_without_ticket(order: OrderAnswer, so_far: TicketClaim | None) -> None:
    if so_far is not None or order.status not in {"submitted", "filled"}:
        return
    if order.status == "submitted":
        how = "keep the poold running that registered the ticket"
    elif order.channel_point is msgspec.UNSET:
        how = "its channel is open"
    else:
        how = f"its channel is {order.channel_point}"
    raise Conflict(f"the order is {order.status}, and was not claimed here: {how}")
