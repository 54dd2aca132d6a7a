"""The unlocker's HTTP server: receives events and unlocks nodes."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from aiohttp import web

from leyden.base.rules.times import Clock
from leyden.customer.unlocker.events import PROOFS, to_unlock
from leyden.customer.unlocker.nodes import UnlockedNode
from leyden.customer.unlocker.unlocking import unlock
from leyden.errors import (
    LeydenError,
    Refused,
    SetupError,
    Unauthorized,
    WrongPassword,
)

log = logging.getLogger(__name__)

_LARGEST_EVENT = 64 * 1024
# The platform waits for 15 s; whatever takes longer goes on without it.
_ANSWER_WITHIN_S = 10.0


class Unlocker:
    """Unlocks its nodes on request, and all of them once at its start."""

    def __init__(
        self,
        nodes: Sequence[UnlockedNode],
        *,
        clock: Clock,
        at_once: int,
        give_up_after_s: float,
        must_be_signed: bool,
        is_polling: bool = False,
        answer_within_s: float = _ANSWER_WITHIN_S,
    ) -> None:
        self._nodes = nodes
        self._clock = clock
        self._give_up_after_s = give_up_after_s
        self._must_be_signed = must_be_signed
        self._is_polling = is_polling  # logs no node that is not locked
        self._answer_within_s = answer_within_s
        # lnd takes 353 MB and a second of processor to open a wallet.
        self._turns = asyncio.Semaphore(at_once)
        self._busy: dict[str, asyncio.Task[str]] = {}
        self._wrong: dict[str, str] = {}  # passwords that lnd rejected, by node

    async def take(self, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
        """Process an event; return the status and message of the response."""
        now: datetime = self._clock()
        try:
            node = to_unlock(
                self._nodes,
                headers=headers,
                body=body,
                now=now,
                must_be_signed=self._must_be_signed,
            )
        except Refused as refusal:
            log.warning("refused an event", extra={"why": refusal.message})
            return refusal.status, refusal.message
        except SetupError as error:
            log.error(("can't receive events"), extra={"why": error.message})  # noqa: TRY400  told
            return 500, "not unlocked"
        if node is None:
            return 200, "nothing to do"
        work = self.begin(node)
        done, _ = await asyncio.wait([work], timeout=self._answer_within_s)
        if not done:
            return 202, "unlocking"
        return (500, "not unlocked") if work.exception() else (200, work.result())

    def begin(self, node: UnlockedNode) -> asyncio.Task[str]:
        """Start unlocking a node, or return the task already in progress."""
        if (work := self._busy.get(node.api)) is None:
            work = asyncio.create_task(self._unlock(node), name=f"unlock {node.api}")
            self._busy[node.api] = work
            work.add_done_callback(lambda done: self._ended(node, done))
        return work

    def begin_all(self) -> None:
        """Start unlocking every node, for events missed while not running.

        A password that a node rejected is not tried again: each costs it memory.
        """
        for node in self._nodes:
            if self._wrong.get(node.api) != node.password.read():
                self.begin(node)

    async def close(self) -> None:
        """Cancel unlocks in progress; the next start checks every node again."""
        for work in list(self._busy.values()):
            work.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _unlock(self, node: UnlockedNode) -> str:
        async with self._turns:
            outcome = await unlock(
                node,
                give_up_after_s=self._give_up_after_s,
                is_polled=self._is_polling,
            )
            return str(outcome)

    def _ended(self, node: UnlockedNode, work: asyncio.Task[str]) -> None:
        del self._busy[node.api]
        if not work.cancelled() and (error := work.exception()) is not None:
            if isinstance(error, WrongPassword):
                self._wrong[node.api] = node.password.read()
            known = isinstance(error, LeydenError)
            why = error.message if isinstance(error, LeydenError) else repr(error)
            log.error(
                "not unlocked", exc_info=not known, extra={"node": node.api, "why": why}
            )


@asynccontextmanager
async def receiving(
    unlocker: Unlocker, *, host: str, port: int, tls: ssl.SSLContext | None
) -> AsyncIterator[int]:
    """Open the event listener for the block; yield its port."""

    async def handle(request: web.Request) -> web.Response:
        status, words = await _answer(unlocker, request)
        return web.json_response({"message": words}, status=status)

    application = web.Application(client_max_size=_LARGEST_EVENT)
    application.router.add_post("/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, ssl_context=tls)
        await site.start()
        yield runner.addresses[0][1]
    except OSError as error:
        raise SetupError(f"--listen {host}:{port}: {error.strerror}") from None
    finally:
        await runner.cleanup()


def serving_tls(chain: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Return the TLS context; None for plain HTTP behind your own proxy."""
    if chain is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(chain, key)
    except OSError as error:
        raise SetupError(f"{chain}: {error}") from None
    return context


async def _answer(unlocker: Unlocker, request: web.Request) -> tuple[int, str]:
    if any(len(request.headers.getall(name, ())) > 1 for name in PROOFS):
        refusal = Unauthorized()  # which of two would it be?
        return refusal.status, refusal.message
    headers = {name.lower(): value for name, value in request.headers.items()}
    return await unlocker.take(headers, await request.read())
