"""All stores by name, for reading and for writing."""

from collections.abc import Callable
from typing import Generic, TypeVar

from leyden.storage.accounts import Accounts
from leyden.storage.alarms import Alarms
from leyden.storage.answers import SavedResponses
from leyden.storage.audit import Audit
from leyden.storage.backup_results import BackupResults
from leyden.storage.backups import Backups
from leyden.storage.commands import Commands
from leyden.storage.corporate import CorporateAccounts
from leyden.storage.counts import Counts
from leyden.storage.coupons import Coupons
from leyden.storage.email_links import EmailLinks
from leyden.storage.email_subscriptions import EmailSubscriptions
from leyden.storage.emails import Emails
from leyden.storage.events import Events
from leyden.storage.findings import Findings
from leyden.storage.first_steps import FirstStepsOfAll
from leyden.storage.fundings import Fundings
from leyden.storage.homes import Homes
from leyden.storage.invitations import Invitations
from leyden.storage.issued import IssuedCertificates
from leyden.storage.keys import Keys
from leyden.storage.launch_specs import LaunchSpecs
from leyden.storage.leases import Leases
from leyden.storage.ledger import Ledger
from leyden.storage.log_places import LogPlaces
from leyden.storage.lsps1_orders import Lsps1Orders
from leyden.storage.moves import Moves
from leyden.storage.node_drills import NodeDrills
from leyden.storage.node_keys import NodeKeys
from leyden.storage.node_onions import NodeOnions
from leyden.storage.node_reports import NodeReports
from leyden.storage.node_starts import NodeStarts
from leyden.storage.nodes import Nodes
from leyden.storage.orders import Orders
from leyden.storage.outputs import Outputs
from leyden.storage.peer_ports import PeerPorts
from leyden.storage.people import People
from leyden.storage.quotas import Quotas
from leyden.storage.quotes import Quotes
from leyden.storage.relocations import Relocations
from leyden.storage.replaced_backups import ReplacedBackups
from leyden.storage.reserved_coins import ReservedCoins
from leyden.storage.retired_webhooks import RetiredWebhooks
from leyden.storage.second_factors import SecondFactors
from leyden.storage.seller import Seller
from leyden.storage.sessions import Sessions
from leyden.storage.statements import Run
from leyden.storage.subscription_deliveries import SubscriptionDeliveries
from leyden.storage.subscriptions import Subscriptions
from leyden.storage.tasks import Tasks
from leyden.storage.treasury import Treasury
from leyden.storage.treasury_checks import TreasuryChecks

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
    backups = _store(Backups)
    commands = _store(Commands)
    corporate_accounts = _store(CorporateAccounts)
    counts = _store(Counts)
    coupons = _store(Coupons)
    email_links = _store(EmailLinks)
    email_subscriptions = _store(EmailSubscriptions)
    emails = _store(Emails)
    events = _store(Events)
    first_steps = _store(FirstStepsOfAll)
    findings = _store(Findings)
    fundings = _store(Fundings)
    homes = _store(Homes)
    invitations = _store(Invitations)
    issued = _store(IssuedCertificates)
    keys = _store(Keys)
    leases = _store(Leases)
    ledger = _store(Ledger)
    log_places = _store(LogPlaces)
    lsps1_orders = _store(Lsps1Orders)
    moves = _store(Moves)
    node_onions = _store(NodeOnions)
    node_reports = _store(NodeReports)
    node_drills = _store(NodeDrills)
    node_starts = _store(NodeStarts)
    nodes = _store(Nodes)
    orders = _store(Orders)
    launch_specs = _store(LaunchSpecs)
    outputs = _store(Outputs)
    peer_ports = _store(PeerPorts)
    people = _store(People)
    quotas = _store(Quotas)
    quotes = _store(Quotes)
    relocations = _store(Relocations)
    replaced_backups = _store(ReplacedBackups)
    reserved_coins = _store(ReservedCoins)
    retired_webhooks = _store(RetiredWebhooks)
    second_factors = _store(SecondFactors)
    seller = _store(Seller)
    node_keys = _store(NodeKeys)
    sessions = _store(Sessions)
    subscription_deliveries = _store(SubscriptionDeliveries)
    subscriptions = _store(Subscriptions)
    tasks = _store(Tasks)
    treasury = _store(Treasury)
    treasury_checks = _store(TreasuryChecks)
