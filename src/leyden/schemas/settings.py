"""What there is to know about a setting of a node, beside its name and its default."""

from enum import StrEnum, auto

from leyden.values import Struct


class SettingKind(StrEnum):
    """What a setting may hold."""

    SWITCH = auto()  # true or false
    DIGITS = auto()  # a whole number, written as a string; "" leaves it to lnd
    ALIAS = auto()
    COLOR = auto()
    ADDRESSES = auto()
    URL = auto()
    HOST = auto()
    MACAROON = auto()
    CERTIFICATE = auto()


class Group(StrEnum):
    """The parts of a form, in their order."""

    IDENTITY = "Identity"
    CHANNELS = "Channels"
    ROUTING = "Routing and payments"
    HOUSEKEEPING = "Housekeeping"
    SIGNER = "Remote signer"


class Setting(Struct, frozen=True, kw_only=True):
    """How a setting is checked, what lnd calls it, and how people are asked for it."""

    kind: SettingKind
    label: str
    help: str
    group: Group | None = None  # None: it has a page of its own
    order: int = 100  # in its group, where that is not in the contract's order
    option: str = ""  # of the command line, where it is not --NAME
    suggested: bool | str | None = None  # for a new node, where there is no default
    least: int = 0  # of DIGITS
    maximum: int | None = None
    lnd: str = ""  # lnd's option; "": the platform honours it, and lnd never hears
    placed: bool = False  # lnd is told by addresses that it gets, not by this value
    since: str = ""  # the first version of lnd that has the option
    until: str = ""  # the first that has it no more
    needs: str = ""  # another setting, without which lnd is not told
    file: str = ""  # in the node's folder: lnd is told where the value is
    # The rest is read from the line in the table.
    name: str = ""
    is_required: bool = False
    default: bool | str | None = None

    @property
    def restarts(self) -> bool:
        """Whether lnd has to be started again to honour a change."""
        return bool(self.lnd) or self.placed

    @property
    def is_secret(self) -> bool:
        """Whether it is kept sealed, and shown to nobody again."""
        return self.kind is SettingKind.MACAROON

    @property
    def is_hidden(self) -> bool:
        """Whether it stays out of logs; the path of a URL is often a secret."""
        return self.is_secret or self.kind in {SettingKind.CERTIFICATE, SettingKind.URL}
