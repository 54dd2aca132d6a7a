"""All stores by name, for reading and for writing."""

from collections.abc import Callable
from typing import Generic, TypeVar

from leyden.backups.rows.backup_results import BackupResults
from leyden.base.database.statements import Run
from leyden.base.rows.answers import SavedResponses
from leyden.base.rows.audit import Audit
from leyden.base.rows.findings import Findings
from leyden.base.tasks.rows.tasks import Tasks
from leyden.channels.direct.rows.extensions import Extensions
from leyden.channels.direct.rows.fundings import Fundings
from leyden.channels.direct.rows.jit_orders import JitOrders
from leyden.channels.direct.rows.lsps1_orders import Lsps1Orders
from leyden.channels.direct.rows.purchases import Purchases
from leyden.channels.direct.rows.reserved_coins import ReservedCoins
from leyden.channels.direct.rows.seller import SellerRow
from leyden.channels.direct.rows.wrapped_invoices import WrappedInvoices
from leyden.channels.money.rows.corporate import CorporateAccounts
from leyden.channels.money.rows.coupons import Coupons
from leyden.channels.rows.leases import Leases
from leyden.channels.rows.ledger import Ledger
from leyden.channels.rows.moves import Moves
from leyden.channels.rows.orders import Orders
from leyden.channels.rows.outputs import Outputs
from leyden.channels.rows.quotes import Quotes
from leyden.channels.rows.treasury import TreasuryRow
from leyden.channels.rows.treasury_checks import TreasuryChecks
from leyden.events.rows.email_links import EmailLinks
from leyden.events.rows.email_subscriptions import EmailSubscriptions
from leyden.events.rows.emails import Emails
from leyden.events.rows.events import EventRows
from leyden.events.rows.retired_webhooks import RetiredWebhooks
from leyden.events.rows.subscription_deliveries import SubscriptionDeliveries
from leyden.events.rows.subscriptions import SubscriptionRows
from leyden.nodes.rows.backups import BackupRows
from leyden.nodes.rows.commands import Commands
from leyden.nodes.rows.homes import HomeRows
from leyden.nodes.rows.issued import IssuedCertificates
from leyden.nodes.rows.launch_specs import LaunchSpecs
from leyden.nodes.rows.log_positions import LogPositionRows
from leyden.nodes.rows.node_drills import NodeDrills
from leyden.nodes.rows.node_keys import NodeKeys
from leyden.nodes.rows.node_onions import NodeOnions
from leyden.nodes.rows.node_reports import NodeReports
from leyden.nodes.rows.node_samples import NodeSamples
from leyden.nodes.rows.node_starts import NodeStarts
from leyden.nodes.rows.nodes import NodeRows
from leyden.nodes.rows.peer_ports import PeerPortRows
from leyden.nodes.rows.relocations import Relocations
from leyden.nodes.rows.replaced_backups import ReplacedBackups
from leyden.operators.rows.alarms import Alarms
from leyden.operators.rows.counts import Counts
from leyden.people.rows.accounts import Accounts
from leyden.people.rows.first_steps import FirstStepsOfAll
from leyden.people.rows.invitations import Invitations
from leyden.people.rows.keys import Keys
from leyden.people.rows.people import People
from leyden.people.rows.quotas import Quotas
from leyden.people.rows.second_factors import SecondFactors
from leyden.people.rows.sessions import Sessions

_Store = TypeVar("_Store")


class _store(Generic[_Store]):  # noqa: N801  it stands where `property` would
    """A store created at its first use: a transaction uses two or three.

    Not `cached_property`, which before Python 3.12 takes a lock each time.
    """

    def __init__(self, kind: Callable[[Run], _Store]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type["Stores"], name: str) -> None:
        self._name = name

    def __get__(self, stores: "Stores", owner: type["Stores"]) -> _Store:
        made = stores.__dict__[self._name] = self._kind(stores.run)
        return made


class Stores:
    """All stores, as on `tx` and on `database.reader`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def has_unflushed(self) -> bool:
        """Whether there are events to flush."""
        return "events" in self.__dict__ and self.events.has_new

    async def flush(self) -> None:
        """Write what must be written last; the transaction calls this at its end."""
        if self.has_unflushed:
            await self.events.flush()

    accounts = _store(Accounts)
    alarms = _store(Alarms)
    answers = _store(SavedResponses)
    audit = _store(Audit)
    backup_results = _store(BackupResults)
    backups = _store(BackupRows)
    commands = _store(Commands)
    corporate_accounts = _store(CorporateAccounts)
    counts = _store(Counts)
    coupons = _store(Coupons)
    email_links = _store(EmailLinks)
    email_subscriptions = _store(EmailSubscriptions)
    emails = _store(Emails)
    events = _store(EventRows)
    first_steps = _store(FirstStepsOfAll)
    extensions = _store(Extensions)
    findings = _store(Findings)
    fundings = _store(Fundings)
    homes = _store(HomeRows)
    invitations = _store(Invitations)
    issued = _store(IssuedCertificates)
    jit_orders = _store(JitOrders)
    keys = _store(Keys)
    leases = _store(Leases)
    ledger = _store(Ledger)
    log_positions = _store(LogPositionRows)
    lsps1_orders = _store(Lsps1Orders)
    moves = _store(Moves)
    node_onions = _store(NodeOnions)
    node_reports = _store(NodeReports)
    node_drills = _store(NodeDrills)
    node_samples = _store(NodeSamples)
    node_starts = _store(NodeStarts)
    nodes = _store(NodeRows)
    orders = _store(Orders)
    launch_specs = _store(LaunchSpecs)
    outputs = _store(Outputs)
    peer_ports = _store(PeerPortRows)
    people = _store(People)
    purchases = _store(Purchases)
    quotas = _store(Quotas)
    quotes = _store(Quotes)
    relocations = _store(Relocations)
    replaced_backups = _store(ReplacedBackups)
    reserved_coins = _store(ReservedCoins)
    retired_webhooks = _store(RetiredWebhooks)
    second_factors = _store(SecondFactors)
    seller = _store(SellerRow)
    node_keys = _store(NodeKeys)
    sessions = _store(Sessions)
    subscription_deliveries = _store(SubscriptionDeliveries)
    subscriptions = _store(SubscriptionRows)
    tasks = _store(Tasks)
    treasury = _store(TreasuryRow)
    treasury_checks = _store(TreasuryChecks)
    wrapped_invoices = _store(WrappedInvoices)
