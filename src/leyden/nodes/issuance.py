"""Certificates from an external authority: issued early, used at starts.

A node starts with a certificate of the platform's own authority and waits
for nothing. Meanwhile an external certificate is ordered for its name. lnd
reads its certificate only when it starts, so the node gets the new one at
its next start.

    1. Place an order; store its URL and the key it is for.
    2. Advance the order step by step until the chain is there; store it.
    3. After two thirds of the certificate's life, start over.

After a kill at any point, the next run finds the order at the authority and
continues. A failed order is followed by another only much later, because
authorities limit their number.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol, TypeVar

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.database.stores import Stores
from leyden.base.http.parsing import PARSING
from leyden.base.rules.times import Clock
from leyden.base.tasks.steps import ClaimedTask
from leyden.errors import AuthorityAway, AuthorityRefused, Malformed, Stale
from leyden.nodes.certificates import keys, pem_chain
from leyden.nodes.certificates.expiry import renewal_at, validity
from leyden.nodes.fleet import Fleet
from leyden.nodes.lnd.home import Tls
from leyden.nodes.rows.issued import Issued
from leyden.nodes.rows.launch_specs import SealedLaunchSpec
from leyden.values import Struct, field

# A kind of task, one for each name; CERTIFICATES looks for names.
ISSUANCE: Final = "issuance"

ACCOUNT: Final = "account key of {}"
_Read = TypeVar("_Read")

log = logging.getLogger(__name__)


class Issuer(Protocol):
    """An external certificate authority.

    AuthorityRefused is a refusal; AuthorityAway is not an answer: retry.
    """

    async def begin(self, name: str) -> str:
        """Place an order for a certificate of that name; return its URL."""
        ...

    async def advance(self, order_url: str, request: bytes) -> bytes | timedelta:
        """Advance an order; return the chain as PEM, or the time to wait.

        `request` is the signing request in DER; it has to be the same each time.
        Raise AuthorityRefused if the order has failed for good.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class RetryIntervals(Struct, frozen=True, kw_only=True):
    """Intervals at which the authority is called."""

    look_every: timedelta = timedelta(minutes=1)
    first_retry: timedelta = timedelta(minutes=10)
    last_retry: timedelta = timedelta(days=1)

    def retry_after(self, refusals: int) -> timedelta:
        """Return the delay after so many refusals: 10 minutes, doubled, 1 day."""
        pause = self.first_retry * (1 << min(refusals - 1, 16))
        return min(pause, self.last_retry)


class Issuance(Struct, frozen=True, kw_only=True):
    """Everything needed to have certificates issued; the app builds it."""

    database: Database
    sealer: Sealer
    clock: Clock
    issuer: Issuer
    own_name: str = ""  # the API's
    fleet: Fleet | None = None
    rules: RetryIntervals = field(default_factory=RetryIntervals)


async def account_key(database: Database, sealer: Sealer, directory: str) -> bytes:
    """Return the key by which an authority knows us, as PEM; make it the first time."""
    purpose = ACCOUNT.format(directory)
    account = await database.reader.issued.account(directory)
    if account is None:
        sealed = sealer.seal(keys.key_pem(keys.new_key()), purpose=purpose)
        async with database.transaction() as tx:
            await tx.issued.add_account(directory, sealed)
            account = await tx.issued.account(directory)
    return sealer.open(account or b"", purpose=purpose)


async def request_missing(issuance: Issuance, due: ClaimedTask) -> None:
    """Request a certificate for every name without one; never ends.

    Nodes with a certificate uploaded by their owner are skipped.
    """
    now = issuance.clock()
    names: dict[str, SealedLaunchSpec | None] = {}
    if issuance.own_name:
        names[issuance.own_name] = None
    if issuance.fleet is not None:
        names |= await _nodes_without(issuance.fleet)
    async with due.transaction() as tx:
        for name, found in names.items():
            if found is not None and not await _still_serves(tx, found):
                continue
            node_id = found.node_id if found is not None else None
            if await tx.issued.add(name, node_id=node_id):
                await tx.tasks.put(ISSUANCE, name, due=now)
        await due.reschedule(tx, due=now + issuance.rules.look_every)


async def _nodes_without(fleet: Fleet) -> dict[str, SealedLaunchSpec]:
    """Return the nodes that serve a certificate of ours and wait for no other one."""
    reader = fleet.database.reader
    found = [
        await reader.launch_specs.get(node_id)
        for node_id in await reader.issued.nodes_without_request()
    ]
    ours = await asyncio.to_thread(
        lambda: [each for each in found if fleet.authority.issued(each.certificate)]
    )
    return {(await reader.nodes.get(each.node_id)).api_endpoint: each for each in ours}


async def _still_serves(tx: Stores, found: SealedLaunchSpec) -> bool:
    """Lock the node; return False if its owner uploaded a certificate meanwhile."""
    await tx.nodes.lock(found.node_id)
    present = await tx.launch_specs.get(found.node_id)
    return present.certificate == found.certificate


async def obtain(issuance: Issuance, due: ClaimedTask) -> None:
    """Advance one name's certificate by a step; schedule the next step."""
    row = await issuance.database.reader.issued.find(due.key)
    if row is None or await _is_over(issuance, row):
        async with due.transaction() as tx:
            await tx.issued.delete(due.key)
            await due.done(tx)
        return
    now = issuance.clock()
    if not row.order_url and (at := await _renewal(row)) is not None and now < at:
        async with due.transaction() as tx:
            await due.reschedule(tx, due=at)
        return
    try:
        await _take_on(issuance, due, row)
    except (AuthorityRefused, Malformed) as error:
        await _refused(issuance, due, error)
    except AuthorityAway as error:
        if error.retry_after_s is None:
            raise  # the queue waits longer each time
        async with due.transaction() as tx:
            await due.reschedule(tx, due=now + timedelta(seconds=error.retry_after_s))


async def _is_over(issuance: Issuance, row: Issued) -> bool:
    if row.node_id is None:
        return row.name != issuance.own_name
    node = await issuance.database.reader.nodes.find(row.node_id)
    return node is None or node.wanted == "deleted"


async def _renewal(row: Issued) -> datetime | None:
    if (chain := row.chain) is None:
        return None
    return renewal_at(await _beside_the_loop(partial(validity, chain)))


async def _take_on(issuance: Issuance, due: ClaimedTask, row: Issued) -> None:
    url, sealed = row.order_url, row.order_key
    if sealed is None:
        url = await issuance.issuer.begin(row.name)
        sealed = issuance.sealer.seal(
            keys.key_pem(keys.new_key()), purpose=name_purpose(row.name)
        )
        async with due.transaction() as tx:
            await tx.issued.set_order(row.name, url, key=sealed)
    key_pem = issuance.sealer.open(sealed, purpose=name_purpose(row.name))
    got = await issuance.issuer.advance(url, keys.signing_request(key_pem, row.name))
    now = issuance.clock()
    if isinstance(got, timedelta):
        async with due.transaction() as tx:
            await due.reschedule(tx, due=now + got)
        return
    parse = partial(pem_chain.parse_issued, got, key_pem, name=row.name, now=now)
    tls, valid = await _beside_the_loop(parse)
    async with due.transaction() as tx:
        await tx.issued.keep(row.name, url, chain=tls.chain_pem, until=valid.until)
        await due.reschedule(tx, due=renewal_at(valid))
    log.info(
        "a certificate was issued",
        extra={"host": row.name, "until": valid.until.isoformat()},
    )


async def _beside_the_loop(work: Callable[[], _Read]) -> _Read:
    """Read certificates in a thread: ten of RSA take up to 0.1 s of processor.

    The authority takes its turn among the organizations that upload some.
    """
    return await PARSING.run(ISSUANCE, work)


async def _refused(
    issuance: Issuance, due: ClaimedTask, error: AuthorityRefused | Malformed
) -> None:
    row = await issuance.database.reader.issued.find(due.key)
    if row is None:
        raise Stale
    async with due.transaction() as tx:
        refusals = await tx.issued.end_order(row.name, row.order_url)
        pause = issuance.rules.retry_after(refusals)
        if error.retry_after_s is not None:
            pause = max(pause, timedelta(seconds=error.retry_after_s))
        await due.reschedule(tx, due=issuance.clock() + pause)
    log.warning(
        "no certificate was issued",
        extra={
            "host": row.name,
            "why": error.message,
            "again_in_s": pause.total_seconds(),
        },
    )


async def newest(
    sealer: Sealer, stores: Stores, name: str, *, now: datetime
) -> Tls | None:
    """Return the certificate that was issued for a name, while it is valid."""
    row = await stores.issued.find(name)
    if row is None or row.chain is None or row.key is None or row.until is None:
        return None
    if now >= row.until:
        return None
    return Tls(
        chain_pem=row.chain, key_pem=sealer.open(row.key, purpose=name_purpose(name))
    )


def name_purpose(name: str) -> str:
    """Return what the keys of a name's certificate are sealed for."""
    return f"certificate key of name {name}"
