"""The platform together with a private chain: runs `leyden up`.

0. With --runtime kubernetes, the cluster starts: nodes will be its pods.
1. The API responds, seconds after the start; its keys are in dev.json.
2. lnd and btcd are built, if they are missing: the first start waits for these.
3. The chain and its treasury start; nodes can be unlocked from then on.
4. The market follows, while the rest is already in use. Its own programs are built
   only now, so that they do not slow down what comes first.
5. Everything is supervised until shutdown. Nodes keep running.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.base.daemons.operator_binaries import own as owned
from leyden.base.daemons.progress import Progress
from leyden.base.settings import Settings, words
from leyden.errors import LeydenError, SetupError
from leyden.nodes.wiring.programs import lnds
from leyden_workshop.compiler.estimates import in_words
from leyden_workshop.devnet import access, auction, cluster, first_run, network, opening
from leyden_workshop.devnet.builds import Builds
from leyden_workshop.devnet.controls import PrivateChainControls
from leyden_workshop.devnet.dev_json import write_down
from leyden_workshop.devnet.welcome import message
from leyden_workshop.devnet.wiring import ports, wired

log = logging.getLogger(__name__)

Say = Callable[[str], None]
Then = Callable[[], Coroutine[None, None, None]]

_CHAIN = "simnet"
_NEEDED = ("lnd", "btcd")
_MARKETS = ("poold", "auctioneer")
_STARTS_S = 15.0  # the market's daemons, on two idle processors
_AFTER_TROUBLE_S = 2.0
_MAX_TROUBLE_S = 120.0


async def run(
    given: Settings,
    *,
    cache: Path,
    progress: Progress,
    say: Say,
    ready: Path,
    then: Then,
    runtime: str = "",
) -> None:
    """Run everything until SIGTERM or SIGINT; `then` runs once all is up.

    `runtime` says where nodes run: "local", "kubernetes", or "" for as before.
    """
    began = time.monotonic()
    stop = _stop_event()
    if given.testnet_chain or given.mainnet_backend:
        raise SetupError(
            "testnet_chain, mainnet_backend: `leyden up` uses its own private chain; "
            "for another chain, use `leyden serve`"
        )
    runtime = cluster.check(given.home_path, runtime)
    own = await owned(words(given.own_binaries))
    builds = Builds(cache, own, progress)
    pods = None
    if runtime == "kubernetes":
        pods = await cluster.start(
            given.home_path,
            companion_port=given.companion_port,
            cache=cache,
            progress=progress,
            say=say,
        )
    chain = network.PrivateNetwork(
        given.home_path,
        programs=builds.programs(*_NEEDED),
        ports=ports(given),
        chain=_CHAIN,
        cluster=pods,
        block_s=given.devnet_block_s,
    )
    given = wired(given, chain.access)
    migrate(given)
    binary = lnds(cache, own=own, progress=progress)
    controls = PrivateChainControls(given.home_path)
    async with running(given, binary=binary, private_chain=controls) as platform:
        accounts = await first_run.ensure_accounts(platform)
        write_down(given, chain.access)
        say(f"the API is up at {given.api_url} ({time.monotonic() - began:.1f} s)")
        await _plan_market(given, builds)
        going = asyncio.create_task(_bring_up(chain, builds, say))
        if await _ended_first(going, stop):
            await going  # shows why, if it failed
            keeping = asyncio.create_task(chain.supervise(), name="private chain")
            opens = await _plan_market(given, builds)
            say(message(given, accounts, time.monotonic() - began, opens=opens))
            await asyncio.to_thread(ready.touch)
            market = asyncio.create_task(_market(given, builds, say), name="market")
            last = asyncio.create_task(then(), name="once all is up")
            if await _ended_first(keeping, stop):
                log.error(
                    "the private chain has no supervision", exc_info=keeping.exception()
                )
            await _cancelled(last)
            await _cancelled(market)
            await _cancelled(keeping)
        else:
            await _cancelled(going)
        opening.clear(given.home_path)
        say("stopping; waiting for requests to finish")


async def _bring_up(chain: network.PrivateNetwork, builds: Builds, say: Say) -> None:
    if missing := await asyncio.to_thread(builds.missing, *_NEEDED):
        otherwise = (
            f" ({in_words(missing.otherwise_s)} to build them from source, if they "
            "can't be downloaded)"
            if missing.otherwise_s
            else ""
        )
        say(
            f"{missing.how} takes {in_words(missing.seconds)}{otherwise}; then the "
            "chain starts, and you can create nodes"
        )
    await builds.build(*_NEEDED)
    await chain.start(say)


async def _plan_market(given: Settings, builds: Builds) -> str:
    """Return when the market opens, in words; write it down for `leyden status`."""
    if not given.devnet_market:
        return ""
    missing = await asyncio.to_thread(builds.missing, *_NEEDED, *_MARKETS)
    within_s = _STARTS_S * builds.pace + (missing.seconds if missing else 0.0)
    waits_for = missing.how if missing else "starting its daemons"
    await asyncio.to_thread(opening.save, given.home_path, waits_for, within_s=within_s)
    return f"the market opens in {in_words(within_s)} ({waits_for})"


async def _market(given: Settings, builds: Builds, say: Say) -> None:
    """Start the market, retrying until it is up, and supervise it."""
    home = given.home_path
    if not given.devnet_market:
        # One that ran before is not what is wanted any more.
        await network.stop(home, besides=access.load(home).daemons)
        return
    reported, wait = "", _AFTER_TROUBLE_S
    while True:
        began = time.monotonic()
        try:
            await _plan_market(given, builds)
            await builds.build(*_MARKETS)
            await _plan_market(given, builds)
            programs = builds.programs(*_NEEDED, *_MARKETS)
            market = auction.Auction(home, programs=programs)
            await market.start(say)
            opening.clear(home)
            say(f"the market is open ({time.monotonic() - began:.1f} s)")
            await market.supervise()
        except* (LeydenError, OSError) as troubles:
            reason = "; ".join(str(each) for each in troubles.exceptions)
            opening.save(home, f"{reason}; `leyden up` tries again")
            if reason != reported:
                say(f"the market can't open yet: {reason}; trying again")
            log.warning(
                "the market can't open", extra={"reason": reason, "again_in_s": wait}
            )
            reported = reason
            await asyncio.sleep(wait)
            wait = min(2 * wait, _MAX_TROUBLE_S)


def _stop_event() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def _ended_first(task: asyncio.Task[None], stop: asyncio.Event) -> bool:
    """Wait for the task or the signal; return whether the task ended."""
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    await _cancelled(waiting)
    return task.done()


async def _cancelled(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
