"""All that can be remembered, noun by noun; the same for reading and for writing."""

from collections.abc import Callable
from typing import Generic, TypeVar

from leyden.storage.accounts import Accounts
from leyden.storage.answers import Answers
from leyden.storage.audit import Audit
from leyden.storage.backups import Backups
from leyden.storage.commands import Commands
from leyden.storage.corporate import CorporateAccounts
from leyden.storage.counts import Counts
from leyden.storage.coupons import Coupons
from leyden.storage.deliveries import Deliveries
from leyden.storage.homes import Homes
from leyden.storage.invitations import Invitations
from leyden.storage.issued import IssuedCertificates
from leyden.storage.keys import Keys
from leyden.storage.leases import Leases
from leyden.storage.ledger import Ledger
from leyden.storage.log_places import LogPlaces
from leyden.storage.moves import Moves
from leyden.storage.nodes import Nodes
from leyden.storage.orders import Orders
from leyden.storage.outfits import Outfits
from leyden.storage.outputs import Outputs
from leyden.storage.people import People
from leyden.storage.quotas import Quotas
from leyden.storage.quotes import Quotes
from leyden.storage.receivers import Receivers
from leyden.storage.replaced_backups import ReplacedBackups
from leyden.storage.second_factors import SecondFactors
from leyden.storage.sessions import Sessions
from leyden.storage.statements import Run
from leyden.storage.tasks import Tasks
from leyden.storage.treasury import Treasury
from leyden.storage.webhooks import Webhooks

_Noun = TypeVar("_Noun")


class _noun(Generic[_Noun]):  # noqa: N801  it stands where `property` would
    """A noun made when it is first spoken of: a transaction knows two or three.

    Not `cached_property`, which before Python 3.12 takes a lock each time.
    """

    def __init__(self, kind: Callable[[Run], _Noun]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type["Nouns"], name: str) -> None:
        self._name = name

    def __get__(self, nouns: "Nouns", owner: type["Nouns"]) -> _Noun:
        made = nouns.__dict__[self._name] = self._kind(nouns.run)
        return made


class Nouns:
    """What hangs on `tx` and on `database.reader`."""

    def __init__(self, run: Run) -> None:
        self.run = run

    accounts = _noun(Accounts)
    answers = _noun(Answers)
    audit = _noun(Audit)
    backups = _noun(Backups)
    commands = _noun(Commands)
    corporate_accounts = _noun(CorporateAccounts)
    counts = _noun(Counts)
    coupons = _noun(Coupons)
    deliveries = _noun(Deliveries)
    homes = _noun(Homes)
    invitations = _noun(Invitations)
    issued = _noun(IssuedCertificates)
    keys = _noun(Keys)
    leases = _noun(Leases)
    ledger = _noun(Ledger)
    log_places = _noun(LogPlaces)
    moves = _noun(Moves)
    nodes = _noun(Nodes)
    orders = _noun(Orders)
    outfits = _noun(Outfits)
    outputs = _noun(Outputs)
    people = _noun(People)
    quotas = _noun(Quotas)
    quotes = _noun(Quotes)
    receivers = _noun(Receivers)
    replaced_backups = _noun(ReplacedBackups)
    second_factors = _noun(SecondFactors)
    sessions = _noun(Sessions)
    tasks = _noun(Tasks)
    treasury = _noun(Treasury)
    webhooks = _noun(Webhooks)
