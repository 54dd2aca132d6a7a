"""Whether a running installation is ready for production: `leyden doctor --production`.

Each item is tried, and not only looked up in the settings. docs/going-live.md has the
same items in the same words, with the reasons.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from leyden.app.production import chains, machine, money, names, people, upkeep
from leyden.errors import LeydenError
from leyden.services.platform import Platform
from leyden.values import Struct

# Returns what to do; "" if there is nothing.
Check = Callable[[Platform], Awaitable[str]]
_PATIENCE_S: Final = 20.0

ITEMS: Final[Mapping[str, Check]] = {
    "nodes can run on mainnet": chains.mainnet,
    "the chain backends answer and are synced": chains.synced,
    "the chain backend of mainnet estimates fees": chains.fees,
    "there is a test network for rehearsals": chains.rehearsal,
    "names of nodes lead to the gateway": names.nodes,
    "the API answers over TLS that browsers trust": names.api,
    "certificates of nodes come from an authority that clients trust": names.issuer,
    "webhooks go over TLS alone": names.webhooks,
    "the treasury answers, is synced and is the known one": money.treasury,
    "the treasury's macaroon cannot spend": money.macaroon,
    "the treasury can be paid over Lightning": money.inbound,
    "the sources of channels are listed": money.listed,
    "channels are bought at the auction, and the account has money": money.auction,
    "the seller of direct channels has coins": money.seller,
    "the seller's macaroon is complete, where channels are sold": money.seller_macaroon,
    "wallets can buy over LSPS1, where that is offered": money.lsps1,
    "a channel was sold here, and the books are right": money.rehearsed,
    "nodes reach only what they may": machine.egress_policy,
    "each node has a user of its own": machine.users,
    "the kernel holds nodes to their shares": machine.shares,
    "the nodes fit into this machine's memory": machine.memory,
    "lnd is built in each version on offer": machine.programs,
    "keys and home are closed to other users": machine.private,
    "what is committed survives a power cut": upkeep.durable,
    "backups go to another disk or machine": upkeep.store,
    "the last backup is fresh": upkeep.backed_up,
    "the last drill is fresh and found nothing": upkeep.drilled,
    "a drill with the recovery key was made this quarter": upkeep.attended,
    "the mail server takes emails": people.emails,
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
