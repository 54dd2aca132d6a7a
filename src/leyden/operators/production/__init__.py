"""Whether a running installation is ready for production: `leyden doctor --production`.

Each item is tried, and not only looked up in the settings.
docs/operators/going-live.md has the same items in the same words, with the reasons.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from leyden.base.platform import Platform
from leyden.errors import LeydenError
from leyden.operators.production import chains, machine, money, names, people, upkeep
from leyden.values import Struct

# Returns what to do; "" if there is nothing.
Check = Callable[[Platform], Awaitable[str]]
_PATIENCE_S: Final = 20.0

ITEMS: Final[Mapping[str, Check]] = {
    "nodes can run on mainnet": chains.mainnet,
    "the chain backends respond and are synced": chains.synced,
    "mainnet's chain backend estimates fees": chains.fees,
    "a test network is configured": chains.rehearsal,
    "node names resolve to the gateway": names.nodes,
    "browsers trust the API's certificate": names.api,
    "clients trust the authority of node certificates": names.issuer,
    "webhooks use TLS only": names.webhooks,
    "the treasury responds, is synced, and is the expected lnd": money.treasury,
    "the treasury's macaroon cannot spend": money.macaroon,
    "the treasury can receive Lightning payments": money.inbound,
    "the sources of channels are configured": money.listed,
    "the Pool account is open and funded": money.auction,
    "the seller's wallet is funded": money.seller,
    "payments reach the channels that the seller sells": money.seller_inbound,
    "the seller's macaroon has every permission": money.seller_macaroon,
    "LSPS1 is ready, if enabled": money.lsps1,
    "just-in-time channels are ready, if sold": money.just_in_time,
    "channels can be bought from other LSPs, if listed": money.buying,
    "a channel was sold, and the ledger is correct": money.rehearsed,
    "the egress policy of nodes is enforced": machine.egress_policy,
    "each node runs as its own user": machine.users,
    "the kernel enforces nodes' resource limits": machine.shares,
    "nodes fit into this machine's memory": machine.memory,
    "every offered version of lnd is available": machine.programs,
    "other users can't read the keys and the home": machine.private,
    "commits survive a power cut": upkeep.durable,
    "backups are stored on another disk or machine": upkeep.store,
    "the last backup is recent": upkeep.backed_up,
    "the last restore drill is recent and succeeded": upkeep.drilled,
    "a restore with the recovery key was practiced this quarter": upkeep.attended,
    "the mail server accepts emails": people.emails,
    "metrics can be scraped": upkeep.metrics,
    "operators sign in with a second factor": people.second_factors,
    "nothing needs attention": upkeep.alarms,
}


class Result(Struct, frozen=True, kw_only=True):
    """The result of a check, and what to do about it; "" if nothing."""

    what: str
    to_do: str
    is_optional: bool = False  # nothing is unsafe without it


async def examine(platform: Platform) -> AsyncIterator[Result]:
    """Run each check on the running installation; change nothing.

    Where nodes are pods, one more runs for some seconds.
    """
    for what, check in ITEMS.items():
        try:
            async with asyncio.timeout(_PATIENCE_S):
                to_do = await check(platform)
        except TimeoutError:
            to_do = f"no response within {_PATIENCE_S:.0f} s"
        except (LeydenError, OSError) as error:
            to_do = str(error)
        yield Result(what=what, to_do=to_do)
