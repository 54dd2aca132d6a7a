"""Operator commands for accounts, balance adjustments and verification."""

import sys
import uuid
from typing import Any

import click

from leyden.base.cli.database import on_running
from leyden.base.cli.elsewhere import elsewhere, organization_id
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.organization_option import on_organization, organization_option
from leyden.base.cli.output import (
    as_json,
    operator,
    print_done,
    print_json,
    print_one,
)
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Organization
from leyden.channels.books import verify as verification
from leyden.channels.books.broken_rules import Broken
from leyden.channels.money import corrections, credit
from leyden.channels.money.corrections import Correction
from leyden.channels.money.credit import Balance
from leyden.channels.wiring.channels import make_channels, receiving_payments
from leyden.client.operator import Operator
from leyden.operators import oversight
from leyden.operators.oversight import nodes_of
from leyden.people.cli.organizations import org


def _limit_elsewhere(
    api: Operator, organization: str | None, limit: int | None = None
) -> dict[str, Any]:
    api.set_limit(organization_id(api, organization), limit)
    return {"may_owe": limit}


def _correct_elsewhere(
    api: Operator, organization: str | None, **options: Any
) -> dict[str, Any]:
    found = api.correct(organization_id(api, organization), **options)
    return {"credit": found.credit, "owed": found.owed}


def _show_elsewhere(api: Operator, organization: str | None) -> dict[str, Any]:
    found = api.organization(organization_id(api, organization))
    return {
        "organization_id": found.organization_id,
        "name": found.name,
        "credit": found.credit,
        "owed": found.owed,
        "may_owe": found.most_owed,
    }


@click.group(cls=LazyGroup)
def account() -> None:
    """Manage corporate accounts, and adjust organizations' balances."""


org.add_command(account, "credit")


@account.command("open")
@organization_option
@click.option(
    "--limit", type=int, required=True, help=("Maximum amount owed, in satoshis.")
)
@as_json
@elsewhere(_limit_elsewhere)
def account_open(organization: str | None, limit: int, *, as_json: bool) -> None:
    """Open a corporate account: orders are added to the amount owed.

    The organization does not pay for each order.

    \b
    leyden orgs credit open --organization "Harbour Light" --limit 5000000
    """
    _set_limit(organization, limit)
    print_done(
        {"may_owe": limit},
        f"orders are added to the amount owed, up to {limit:,} sat",
        as_json=as_json,
    )


@account.command("close")
@organization_option
@as_json
@elsewhere(_limit_elsewhere)
def account_close(organization: str | None, *, as_json: bool) -> None:
    """Close a corporate account: orders are prepaid again.

    The organization still has to pay the amount owed.

    \b
    leyden orgs credit close --organization "Harbour Light"
    """
    _set_limit(organization, None)
    print_done({"may_owe": None}, "orders are prepaid again", as_json=as_json)


@account.command("correct")
@organization_option
@click.option(
    "--kind",
    type=click.Choice([each.value for each in Correction]),
    required=True,
    help=(
        "credit adds, debit takes away; refund and settled record a payment made "
        "elsewhere."
    ),
)
@click.option("--amount", type=int, required=True, help="Satoshis.")
@click.option("--reason", required=True, help="Recorded in the ledger with your name.")
@click.option(
    "--key",
    help="Idempotency key: repeating the command with the same key changes nothing.",
)
@as_json
@elsewhere(_correct_elsewhere)
def account_correct(
    organization: str | None,
    kind: str,
    amount: int,
    reason: str,
    key: str | None,
    *,
    as_json: bool,
) -> None:
    """Adjust an organization's balance with a ledger entry.

    \b
    leyden orgs credit correct --organization "Harbour Light" --kind credit \\
        --amount 500 --reason "channel closed early"
    """

    async def correct(platform: Platform, of: Organization) -> Balance:
        return await corrections.correct(
            platform.database,
            of.id,
            Correction(kind),
            sats=amount,
            reason=reason,
            actor=operator(),
            key=key or str(uuid.uuid4()),
            now=platform.clock(),
        )

    balance = on_organization(organization, correct)
    print_one({"credit": balance.credit, "owed": balance.owed}, as_json=as_json)


@account.command("show")
@organization_option
@as_json
@elsewhere(_show_elsewhere)
def account_show(organization: str | None, *, as_json: bool) -> None:
    """Print an organization's credit, amount owed and account limit.

    \b
    leyden orgs credit show --organization "Harbour Light"
    """
    account = on_organization(
        organization, lambda platform, of: oversight.account(platform, of.id)
    )
    shown = {
        "organization_id": account.organization.id,
        "name": account.organization.name,
        "credit": account.balance.credit,
        "owed": account.balance.owed,
        "may_owe": account.most_owed,
    }
    print_one(shown, as_json=as_json)


@click.command()
@click.option(
    "--treasury/--no-treasury",
    default=True,
    help="Also compare with the treasury's lnd, and the purse's if there is one.",
)
@as_json
def verify(*, treasury: bool, as_json: bool) -> None:
    """Verify the ledger, also against the treasury's lnd.

    Changes nothing. If a rule is broken, prints the rule and the entry, and exits 1.

    \b
    leyden verify
    leyden verify --no-treasury
    """

    async def prove(platform: Platform) -> list[Broken]:
        channels, nodes_at = (
            make_channels(platform) if treasury else None,
            nodes_of(platform),
        )
        if channels is None:
            return await verification.verify(platform.database, nodes_at=nodes_at)
        async with receiving_payments(channels, listening=False):
            return await verification.verify(
                platform.database,
                channels.payments,
                purse=channels.purse,
                nodes_at=nodes_at,
            )

    broken = on_running(prove)
    if as_json:
        print_json({"broken": [{"rule": b.rule, "where": b.where} for b in broken]})
    else:
        for each in broken:
            print(each)
        print("the books are right" if not broken else f"{len(broken)} rules broken")
    sys.exit(int(bool(broken)))


def _set_limit(organization: str | None, limit: int | None) -> None:
    on_organization(
        organization,
        lambda platform, of: credit.open_account(
            platform.database,
            of.id,
            most_owed=limit,
            actor=operator(),
            now=platform.clock(),
        ),
    )
