"""Unlocking one node over its own TLS, trusting only its own CA."""

import asyncio
import base64
import logging
import time
from contextlib import AbstractAsyncContextManager
from enum import StrEnum

from leyden.customer.unlocker.nodes import UnlockedNode
from leyden.errors import NodeAway, NodeRefused, WrongPassword
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import LndClient, connect
from leyden.nodes.lnd.states import TlsAddress

log = logging.getLogger(__name__)

_PORT = 8080
# lnd answers when the wallet is open: a second, or a minute for one of many channels.
_LONGEST_UNLOCK_S = 120.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0


class UnlockOutcome(StrEnum):
    """The result of an unlock."""

    UNLOCKED = "unlocked"
    NOT_LOCKED = "was not locked"
    NO_WALLET = "has no wallet yet"


async def unlock(
    node: UnlockedNode, *, give_up_after_s: float, is_polled: bool = False
) -> UnlockOutcome:
    """Unlock the node; retry while it cannot be reached."""
    begun = time.monotonic()
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            outcome = await _try(node)
        except (NodeAway, NodeRefused) as error:
            if time.monotonic() - begun + pause_s > give_up_after_s:
                raise
            log.info("not unlocked yet", extra={"node": node.api, "why": error.message})
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        else:
            took_s = round(time.monotonic() - begun, 2)
            is_news = outcome is not UnlockOutcome.NOT_LOCKED or not is_polled
            level = logging.INFO if is_news else logging.DEBUG
            log.log(level, str(outcome), extra={"node": node.api, "took_s": took_s})
            return outcome


async def state(node: UnlockedNode) -> str:
    """Return the state of the node's wallet, as lnd names it."""
    async with _connected(node) as lnd:
        return str((await lnd.call("GET", "/v1/state")).get("state"))


def _connected(node: UnlockedNode) -> AbstractAsyncContextManager[LndClient]:
    # The connection goes where we are told; the name in the certificate stays.
    host, _, port = (node.connect or f"{node.api}:{_PORT}").rpartition(":")
    address = TlsAddress(host.strip("[]"), int(port), node.api)
    return connect(address, trusting(node.ca_file.read_text()))


async def _try(node: UnlockedNode) -> UnlockOutcome:
    async with _connected(node) as lnd:
        match (await lnd.call("GET", "/v1/state")).get("state"):
            case "LOCKED":
                return await _open_wallet(lnd, node.password.read())
            case "NON_EXISTING":
                return UnlockOutcome.NO_WALLET
            case "UNLOCKED" | "RPC_ACTIVE" | "SERVER_ACTIVE":
                return UnlockOutcome.NOT_LOCKED
            case _:
                raise NodeAway("the node is not ready to be unlocked")


async def _open_wallet(lnd: LndClient, password: str) -> UnlockOutcome:
    wanted = {
        "wallet_password": base64.b64encode(password.encode()).decode(),
        # Else lnd would write its macaroons to the platform's disk.
        "stateless_init": True,
    }
    try:
        await lnd.call("POST", "/v1/unlockwallet", wanted, timeout_s=_LONGEST_UNLOCK_S)
    except NodeRefused as refusal:
        if "invalid passphrase" in refusal.message:
            raise WrongPassword("lnd rejects the password") from None
        if "already unlocked" in refusal.message:
            return UnlockOutcome.NOT_LOCKED
        raise NodeAway(refusal.message) from None
    return UnlockOutcome.UNLOCKED
