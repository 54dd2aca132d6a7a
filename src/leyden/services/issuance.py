"""Certificates from an authority of others: ordered ahead of time, taken at a start.

A node begins with a certificate of the platform's own authority, and nothing about it
waits for anybody. Meanwhile another is ordered for its name; its lnd, which reads its
certificate at its start and at no other time, is given it at its next one.

    1. Place an order; keep where it is, and the key that it will be for.
    2. Take it on, step by step, until the chain is there, and keep that.
    3. After two thirds of its life, begin anew.

Killed anywhere, the next run finds the order at the authority and goes on with it. An
order that comes to nothing is followed by another much later: authorities count.
"""

from datetime import datetime, timedelta
from typing import Final

from leyden import logs
from leyden.domain.times import Clock
from leyden.errors import AuthorityAway, AuthorityRefused, Malformed, Stale
from leyden.gateway.expiry import renewal_at, validity
from leyden.gateway.issuer import Issuer
from leyden.lnd.home import Tls
from leyden.services.due import Due
from leyden.services.fleet import Fleet
from leyden.storage.database import Database
from leyden.storage.issued import Issued
from leyden.storage.nouns import Nouns
from leyden.storage.secrets import Sealer
from leyden.values import Struct, field

# A kind of task, one for each name; CERTIFICATES looks for names.
ISSUANCE: Final = "issuance"

_ACCOUNT: Final = "account key of {}"

log = logs.get()


class Rules(Struct, frozen=True, kw_only=True):
    """How often an authority is bothered."""

    look_every: timedelta = timedelta(minutes=1)
    first_retry: timedelta = timedelta(minutes=10)
    last_retry: timedelta = timedelta(days=1)

    def retry_after(self, refusals: int) -> timedelta:
        """Wait twice as long after each refusal: 10 minutes, 20, 40 ... a day."""
        pause = self.first_retry * (1 << min(refusals - 1, 16))
        return min(pause, self.last_retry)


class Issuance(Struct, frozen=True, kw_only=True):
    """What it takes to have certificates issued, wired by app.py and handed down."""

    database: Database
    sealer: Sealer
    clock: Clock
    issuer: Issuer
    own_name: str = ""  # the API's
    fleet: Fleet | None = None
    rules: Rules = field(default_factory=Rules)


async def account_key(database: Database, sealer: Sealer, directory: str) -> bytes:
    """Give the key by which an authority knows us, as PEM; make it the first time."""
    from leyden.gateway import requests  # noqa: PLC0415  a tenth of a start

    purpose = _ACCOUNT.format(directory)
    kept = await database.reader.issued.account(directory)
    if kept is None:
        sealed = sealer.seal(requests.new_key(), purpose=purpose)
        async with database.transaction() as tx:
            await tx.issued.add_account(directory, sealed)
            kept = await tx.issued.account(directory)
    return sealer.open(kept or b"", purpose=purpose)


async def look(issuance: Issuance, due: Due) -> None:
    """Want a certificate for every name that has none wanted; for ever.

    A node whose owner has handed one in is left alone.
    """
    now = issuance.clock()
    names: dict[str, str | None] = {}
    if issuance.own_name:
        names[issuance.own_name] = None
    if issuance.fleet is not None:
        names |= await _nodes_without(issuance.fleet)
    async with due.transaction() as tx:
        for name, node_id in names.items():
            if await tx.issued.add(name, node_id=node_id):
                await tx.tasks.put(ISSUANCE, name, due=now)
        await due.again(tx, due=now + issuance.rules.look_every)


async def _nodes_without(fleet: Fleet) -> dict[str, str | None]:
    reader = fleet.database.reader
    found: dict[str, str | None] = {}
    for node_id in await reader.issued.nodes_without():
        outfit = await reader.outfits.get(node_id)
        if fleet.authority.issued(outfit.certificate):
            node = await reader.nodes.get(node_id)
            found[node.api_endpoint] = node_id
    return found


async def obtain(issuance: Issuance, due: Due) -> None:
    """Take the certificate of one name a step on; called again when the next is due."""
    row = await issuance.database.reader.issued.find(due.key)
    if row is None or await _is_over(issuance, row):
        async with due.transaction() as tx:
            await tx.issued.forget(due.key)
            await due.done(tx)
        return
    now = issuance.clock()
    if not row.order_url and (at := _renewal(row)) is not None and now < at:
        async with due.transaction() as tx:
            await due.again(tx, due=at)
        return
    try:
        await _take_on(issuance, due, row)
    except (AuthorityRefused, Malformed) as error:
        await _refused(issuance, due, error)
    except AuthorityAway as error:
        if error.retry_after_s is None:
            raise  # the queue waits longer each time
        async with due.transaction() as tx:
            await due.again(tx, due=now + timedelta(seconds=error.retry_after_s))


async def _is_over(issuance: Issuance, row: Issued) -> bool:
    if row.node_id is None:
        return row.name != issuance.own_name
    node = await issuance.database.reader.nodes.find(row.node_id)
    return node is None or node.wanted == "deleted"


def _renewal(row: Issued) -> datetime | None:
    return renewal_at(validity(row.chain)) if row.chain is not None else None


async def _take_on(issuance: Issuance, due: Due, row: Issued) -> None:
    from leyden.gateway import handed_in, requests  # noqa: PLC0415  a tenth of a start

    url, sealed = row.order_url, row.order_key
    if sealed is None:
        url = await issuance.issuer.begin(row.name)
        sealed = issuance.sealer.seal(requests.new_key(), purpose=_purpose(row.name))
        async with due.transaction() as tx:
            await tx.issued.set_order(row.name, url, key=sealed)
    key_pem = issuance.sealer.open(sealed, purpose=_purpose(row.name))
    got = await issuance.issuer.advance(url, requests.request(key_pem, row.name))
    now = issuance.clock()
    if isinstance(got, timedelta):
        async with due.transaction() as tx:
            await due.again(tx, due=now + got)
        return
    chain, key = got.decode(errors="replace"), key_pem.decode()
    tls = handed_in.accept(chain, key, name=row.name, now=now)
    valid = validity(tls.chain_pem)
    async with due.transaction() as tx:
        await tx.issued.keep(row.name, url, chain=tls.chain_pem, until=valid.until)
        await due.again(tx, due=renewal_at(valid))
    log.info("a certificate was issued", name=row.name, until=valid.until.isoformat())


async def _refused(
    issuance: Issuance, due: Due, error: AuthorityRefused | Malformed
) -> None:
    row = await issuance.database.reader.issued.find(due.key)
    if row is None:
        raise Stale
    async with due.transaction() as tx:
        refusals = await tx.issued.end_order(row.name, row.order_url)
        pause = issuance.rules.retry_after(refusals)
        if error.retry_after_s is not None:
            pause = max(pause, timedelta(seconds=error.retry_after_s))
        await due.again(tx, due=issuance.clock() + pause)
    log.warning(
        "no certificate was issued",
        name=row.name,
        why=error.message,
        again_in_s=pause.total_seconds(),
    )


async def newest(
    sealer: Sealer, nouns: Nouns, name: str, *, now: datetime
) -> Tls | None:
    """Give the certificate that was issued for a name, while it is valid."""
    row = await nouns.issued.find(name)
    if row is None or row.chain is None or row.key is None or row.until is None:
        return None
    if now >= row.until:
        return None
    return Tls(
        chain_pem=row.chain, key_pem=sealer.open(row.key, purpose=_purpose(name))
    )


def _purpose(name: str) -> str:
    return f"certificate key of name {name}"
