"""The task that sells just-in-time channels, in one process of the platform.

lnd has one interceptor at a time, and passes each message to all who listen.
"""

import asyncio

from leyden.base.tasks.steps import ClaimedTask
from leyden.channels.direct.jit.interceptor import Interceptor
from leyden.channels.direct.jit.offers import JitOffers
from leyden.channels.direct.jit.steps import Steps
from leyden.channels.direct.jit.watch import Watch
from leyden.channels.direct.jit.wrapped import Wrapped
from leyden.channels.direct.lsps1.listening import respond
from leyden.channels.direct.lsps1.rpc import Rpc
from leyden.channels.services import ChannelServices


async def serve(channels: ChannelServices, due: ClaimedTask) -> None:
    """Answer wallets and the purse's lnd as long as the task is ours."""
    purse, rules = channels.purse, channels.rules.jit
    if purse is None or rules is None:
        return
    steps = Steps(channels, due)
    interceptor = Interceptor(channels, purse, rules, steps)
    watch = Watch(channels, purse, steps, interceptor)
    rpc = Rpc(JitOffers(channels, purse, rules))
    async with asyncio.TaskGroup() as group:
        group.create_task(interceptor.run())
        group.create_task(watch.run())
        if purse.wrapping is not None:
            wrapped = Wrapped(
                channels,
                purse,
                purse.wrapping,
                steps,
                interceptor=interceptor,
                watch=watch,
            )
            group.create_task(wrapped.run())
        group.create_task(
            respond(purse.messages, rpc, due, per_minute=rules.messages_per_minute)
        )
