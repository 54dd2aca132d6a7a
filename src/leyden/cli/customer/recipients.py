"""`--for NODE`: the node that an order's channel goes to."""

from pathlib import Path
from typing import Any

from leyden.cli.customer.session import Session
from leyden.cli.wallet.reaching import admin_macaroon, open_node, wallet_password
from leyden.client import ApiError

_KEY_DIGITS = 66
_BAD_REQUEST = 400


def wish_for(
    session: Session,
    named: str,
    *,
    capacity: int,
    password_file: Path | None,
    macaroon_file: Path | None,
) -> dict[str, Any]:
    """Return the order's fields for a node: a public key, or one of yours by name.

    The platform knows a node's public key once it got a channel; before that the node
    itself is asked, with its owner's macaroon.
    """
    key = named.partition("@")[0]
    if len(key) == _KEY_DIGITS and key[:2] in {"02", "03"}:
        return {"node": named}
    node = session.node(named)
    wish = {"node_id": node.node_id}
    if not macaroon_file and not password_file:
        try:
            session.client.flow.quote(capacity, **wish)
        except ApiError as error:
            if error.status != _BAD_REQUEST or not error.message.startswith("node:"):
                raise
        else:
            return wish
    password = "" if macaroon_file else wallet_password(password_file)
    macaroon = admin_macaroon(session, node, macaroon_file, password)
    with open_node(session, node, macaroon=macaroon) as lnd:
        return {**wish, "node": str(lnd.get("/v1/getinfo")["identity_pubkey"])}
