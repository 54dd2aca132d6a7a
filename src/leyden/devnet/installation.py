"""The platform and a private chain for it, together: what `leyden up` runs.

1. The API answers, seconds after the start; its keys are in dev.json.
2. Daemons that are missing are built.
3. The chain and its treasury come up; nodes can be unlocked from then on.
4. The market follows, while the rest is in use already.
5. All of it is kept running until we are told to stop. Nodes live on.
"""

import asyncio
import dataclasses
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from leyden import app, logs, processes
from leyden.app.courier import words
from leyden.app.fleet import lnds
from leyden.daemons import catalogue
from leyden.daemons.build import build
from leyden.daemons.catalogue import Program
from leyden.daemons.own import own as owned
from leyden.daemons.progress import Progress
from leyden.daemons.workshop import place
from leyden.devnet import access, auction, first_run, network
from leyden.devnet.certificate import ensure_certificate
from leyden.devnet.configuration import heal_certificate
from leyden.devnet.daemon import claim, output
from leyden.devnet.dev_json import write_down
from leyden.devnet.places import AuctionPorts, Ports
from leyden.devnet.treasury import macaroon
from leyden.devnet.welcome import api_url, what_next
from leyden.domain.times import utc_now
from leyden.errors import LeydenError, SetupError
from leyden.runtimes import nftables
from leyden.settings import Settings

log = logs.get()

Say = Callable[[str], None]

_CHAIN = "simnet"
_NEEDED = ("lnd", "btcd")
_MARKETS = ("poold", "auctioneer")
_AFTER_TROUBLE_S = 2.0
_MOST_TROUBLE_S = 120.0
_NODE_GRACE_S = 60.0
_GATEWAY_GRACE_S = 5.0


async def run(
    given: Settings, *, cache: Path, progress: Progress, say: Say, ready: Path
) -> None:
    """Run everything until SIGTERM or SIGINT."""
    began = time.monotonic()
    told = _told()
    if given.testnet_chain or given.mainnet_backend:
        raise SetupError(
            "testnet_chain, mainnet_backend: `leyden up` brings a chain of its own; "
            "for another one use `leyden serve`"
        )
    own = await owned(words(given.own_binaries))
    programs = _programs(cache, own)
    chain = network.Network(
        given.home_path, programs=programs, ports=_ports(given), chain=_CHAIN
    )
    given = _on(given, chain.access)
    app.migrate(given)
    binary = lnds(cache, own=own, progress=progress)
    async with app.running(given, binary=binary) as platform:
        kept = await first_run.ensure_accounts(platform)
        write_down(given, chain.access)
        say(f"the API answers on {api_url(given)} ({time.monotonic() - began:.1f} s)")
        going = asyncio.create_task(_bring_up(chain, own, cache, progress, say))
        if await _ended_first(going, told):
            await going  # shows why, if it failed
            keeping = asyncio.create_task(chain.supervise(), name="private chain")
            say(what_next(given, kept, time.monotonic() - began))
            await asyncio.to_thread(ready.touch)
            market = asyncio.create_task(
                _market(given, own, cache, progress, say), name="market"
            )
            await _ended_first(keeping, told)
            await _cancelled(market)
            await _cancelled(keeping)
        else:
            await _cancelled(going)
        say("stopping; requests may finish")


def as_running(given: Settings) -> Settings:
    """Give the settings that `leyden up` runs this home with, if it ever did."""
    try:
        return _on(given, access.load(given.home_path))
    except SetupError:
        return given


async def stop(given: Settings, *, nodes: bool, say: Say) -> None:
    """Stop what the platform left running; nodes, and what they need, only if asked."""
    running = list(_nodes(given))
    if running and not nodes:
        say(
            f"{len(running)} nodes, their chain and the gateway go on; "
            "`leyden down --nodes` stops them too"
        )
        return
    await asyncio.gather(
        *(processes.stop(each, grace_s=_NODE_GRACE_S) for each in running)
    )
    if running:
        say(f"{len(running)} nodes stopped")
    if gateway := processes.holder(given.home_path / "gateway" / "claim"):
        await processes.stop(gateway, grace_s=_GATEWAY_GRACE_S)
        say("gateway stopped")
    if nftables.take_down(given.home_path):
        say("the fence around nodes is down")
    if await network.stop(given.home_path):
        say("private chain stopped")


def status(given: Settings) -> dict[str, Any]:
    """Say which daemons run, and how many nodes."""
    found: dict[str, Any] = {
        "gateway": _word(processes.holder(given.home_path / "gateway" / "claim")),
        "nodes_running": len(list(_nodes(given))),
    }
    with suppress(SetupError):
        for name in access.load(given.home_path).daemons:
            folder = access.folder(given.home_path) / name
            found[name] = _word(processes.holder(claim(folder)))
    return found


def log_files(given: Settings) -> dict[str, Path]:
    """Give the logs there are beside the platform's own, by name."""
    home = given.home_path
    found = {"gateway": home / "gateway" / "envoy.log"}
    with suppress(SetupError):
        for name in access.load(home).daemons:
            found[name] = output(access.folder(home) / name)
    return {name: path for name, path in found.items() if path.exists()}


async def _bring_up(
    chain: network.Network,
    own: Mapping[Program, Path],
    cache: Path,
    progress: Progress,
    say: Say,
) -> None:
    wanted = [catalogue.find(name, None) for name in _NEEDED]
    missing = [each for each in wanted if each[1] not in own]
    await build(missing, cache=cache, progress=progress)
    await chain.start(say)


async def _market(
    given: Settings,
    own: Mapping[Program, Path],
    cache: Path,
    progress: Progress,
    say: Say,
) -> None:
    """Bring the market up, however often that takes, and keep it running."""
    home = given.home_path
    if not given.devnet_market:
        # One that ran before is not what is wanted any more.
        await network.stop(home, besides=access.load(home).daemons)
        return
    wanted = [catalogue.find(name, None) for name in _MARKETS]
    missing = [each for each in wanted if each[1] not in own]
    told, wait = "", _AFTER_TROUBLE_S
    while True:
        began = time.monotonic()
        try:
            await build(missing, cache=cache, progress=progress)
            market = auction.Auction(home, programs=_programs(cache, own))
            await market.start(say)
            say(f"the market is open ({time.monotonic() - began:.1f} s)")
            await market.supervise()
        except* (LeydenError, OSError) as troubles:
            reason = "; ".join(str(each) for each in troubles.exceptions)
            if reason != told:
                say(f"the market cannot open yet: {reason}")
            log.warning("the market cannot open", reason=reason, again_in_s=wait)
            told = reason
            await asyncio.sleep(wait)
            wait = min(2 * wait, _MOST_TROUBLE_S)


def _programs(cache: Path, own: Mapping[Program, Path]) -> dict[str, Path]:
    found = {}
    for name in (*_NEEDED, *_MARKETS):
        tools, program = catalogue.find(name, None)
        found[name] = own.get(program) or place(cache, tools, program)
    return found


def _ports(given: Settings) -> Ports:
    traders = {
        each.name: getattr(given, f"devnet_{each.name}_port")
        for each in dataclasses.fields(AuctionPorts)
    }
    return Ports(
        btcd=given.devnet_btcd_port,
        treasury_peer=given.devnet_treasury_peer_port,
        treasury_grpc=given.devnet_treasury_grpc_port,
        treasury_rest=given.devnet_treasury_rest_port,
        auction=AuctionPorts(**traders) if given.devnet_market else None,
    )


def _on(given: Settings, chain: access.Access) -> Settings:
    """Give the settings with the private chain as testnet."""
    certificate = Path(chain.btcd.certificate)
    heal_certificate(certificate, certificate.with_suffix(".key"))
    ensure_certificate(certificate, now=utc_now())
    treasury = chain.lnds["treasury"]
    return msgspec.structs.replace(
        given,
        testnet_chain=chain.chain,
        testnet_backend="btcd",
        testnet_rpc_host=chain.btcd.address,
        testnet_rpc_user=chain.btcd.user,
        testnet_rpc_password=chain.btcd.password,
        testnet_rpc_certificate=str(certificate),
        treasury_host=treasury.rest,
        treasury_certificate=treasury.certificate,
        treasury_macaroon=str(macaroon(given.home_path)),
        **_market_settings(chain),
        # Who is on this chain has no public address: its lnds are peers all the same.
        nodes_may_reach=given.nodes_may_reach
        or ", ".join(lnd.peer for lnd in chain.lnds.values()),
        # Whoever tries webhooks here has the receiver on this machine.
        webhooks_over_http=True,
        webhook_networks=given.webhook_networks or "127.0.0.0/8, ::1/128",
    )


def _market_settings(chain: access.Access) -> dict[str, str]:
    """Give what lets the platform buy channels; the provider need not be up yet."""
    if (provider := chain.pools.get("provider")) is None:
        return {"market": "simulated"}
    return {
        "market": "pool",
        "pool_host": provider.grpc,
        "pool_certificate": provider.certificate,
        "pool_macaroon": provider.macaroon,
    }


def _nodes(given: Settings) -> Iterator[processes.Identity]:
    for path in sorted((given.home_path / "nodes").glob("*/claim")):
        if (found := processes.holder(path)) is not None:
            yield found


def _word(found: processes.Identity | None) -> str:
    return "not running" if found is None else f"running as {found.pid}"


def _told() -> asyncio.Event:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    return told


async def _ended_first(task: asyncio.Task[None], told: asyncio.Event) -> bool:
    """Wait for either; tell whether the task ended."""
    waiting = asyncio.create_task(told.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    await _cancelled(waiting)
    return task.done()


async def _cancelled(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
