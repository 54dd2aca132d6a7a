"""What the owner of a node may set, by the names the API uses.

Settings are checked whole: lnd dies of some values only after its wallet has been
unlocked (an alias of 33 bytes), and refuses to start with some pairs (a smallest
channel above the largest), so a node with such settings must never come to be.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from leyden.domain import remote_signers, webhook_urls, whitelist
from leyden.domain.addresses import Reach
from leyden.domain.marks import composed
from leyden.domain.webhook_urls import USUAL, Allowed
from leyden.errors import Malformed
from leyden.values import Struct, asdict, fields, hiding, replace

MASK: Final = "********"  # what is shown of a secret; sent back, it changes nothing
IGNORED: Final = frozenset({"sphinx", "webhook_secret"})  # ours to say, not a client's
SMALLEST_CHANNEL: Final = 20_000  # lnd's own default for minchansize
LARGEST_CHANNEL: Final = 16_777_215
LARGEST_WUMBO_CHANNEL: Final = 1_000_000_000
_LARGEST_ON_THE_WIRE: Final = 2**32 - 1  # fees travel to peers as 32 bits
_LONGEST_ALIAS: Final = 32  # bytes, not characters
_UNSHOWABLE: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_DIGITS = re.compile(r"[0-9]{1,16}")
_SPEAKABLE = re.compile(r"[A-Za-z0-9_]{1,40}")


class NodeSettings(Struct, frozen=True, kw_only=True):
    """All settings of a node; what the contract leaves optional has its default."""

    autopilot: bool
    grpc: bool
    rest: bool
    keysend: bool
    whitelist: tuple[str, ...]
    alias: str
    color: str
    wumbo: bool = True
    webhook: str = ""
    minchansize: str = ""
    maxchansize: str = ""
    autocompaction: bool = False
    defaultfeerate: str = ""
    basefee: str = ""
    amp: bool = True
    wtclient: bool = False
    maxpendingchannels: str = ""
    allowcircularroute: bool = False
    numgraphsyncpeers: str = ""
    gccanceledinvoicesonstartup: bool = False
    gccanceledinvoicesonthefly: bool = False
    torskipproxyforclearnettargets: bool = False
    rpcmiddleware: bool = False
    optionscidalias: bool = False
    zeroconf: bool = False
    remotesigning: bool = False
    remotesigninghost: str = ""
    remotesigningmacaroon: str = ""
    remotesigningcert: str = ""

    __repr__ = hiding("remotesigningmacaroon", "remotesigningcert")


NAMES: Final = tuple(item.name for item in fields(NodeSettings))
SECRETS: Final = frozenset({"remotesigningmacaroon"})
# What the gateway and the webhooks honour; lnd never hears of these.
LIVE: Final = frozenset({"grpc", "rest", "whitelist", "webhook"})
_DEFAULTS: Final = asdict(
    NodeSettings(
        autopilot=False,
        grpc=False,
        rest=False,
        keysend=False,
        whitelist=(),
        alias="",
        color="",
    )
)
_REQUIRED: Final = NAMES[: NAMES.index("wumbo")]


class Calls(Struct, frozen=True, kw_only=True):
    """Which addresses an installation lets be called, by the setting that names one."""

    webhook: Reach = Reach()
    remotesigninghost: Reach = Reach()


PUBLIC: Final = Calls()


def parse(
    given: object, *, webhooks: Allowed = USUAL, calls: Calls = PUBLIC
) -> NodeSettings:
    """Read the settings of a new node, or say which one is wrong and why."""
    sent = _known(given)
    for name in _REQUIRED:
        if name not in sent:
            raise Malformed(f"{name}: is required")
    settings = _read({**_DEFAULTS, **sent}, webhooks)
    if settings.webhook:
        webhook_urls.check_address(settings.webhook, calls.webhook)
    if settings.remotesigninghost:
        _check_signer_address(settings, calls)
    return settings


def change(
    current: NodeSettings,
    given: object,
    *,
    webhooks: Allowed = USUAL,
    calls: Calls = PUBLIC,
) -> NodeSettings:
    """Return the settings with what was sent put in place; the rest stays.

    A secret sent back as it is shown (masked) stays what it was. So does an address
    that may not be called any more, or never might: nobody is kept from changing
    something else by it, and it is refused again when it is called.
    """
    sent = _known(given)
    for name in SECRETS:
        if sent.get(name) == MASK:
            del sent[name]
    settings = _read({**asdict(current), **sent}, webhooks)
    if settings.webhook and settings.webhook != current.webhook:
        webhook_urls.check_address(settings.webhook, calls.webhook)
    moved = settings.remotesigninghost != current.remotesigninghost
    begun = settings.remotesigning and not current.remotesigning
    if settings.remotesigninghost and (moved or begun):
        _check_signer_address(settings, calls)
    return settings


def needs_restart(before: NodeSettings, after: NodeSettings) -> bool:
    """Tell whether lnd has to be started again to honour the change."""
    return any(
        getattr(before, name) != getattr(after, name)
        for name in NAMES
        if name not in LIVE
    )


def show(settings: NodeSettings, *, webhook_secret: str) -> dict[str, object]:
    """Give the settings as the API shows them: with ours, and without secrets."""
    shown: dict[str, object] = asdict(settings)
    shown["whitelist"] = list(settings.whitelist)
    for name in SECRETS:
        shown[name] = MASK if shown[name] else ""
    return {**shown, "sphinx": False, "webhook_secret": webhook_secret}


def without_secrets(settings: NodeSettings) -> NodeSettings:
    """Give what may be kept in clear; the rest is kept sealed, by name."""
    return replace(settings, remotesigningmacaroon="")


def secrets_of(settings: NodeSettings) -> dict[str, str]:
    """Give what must be sealed, by name."""
    return {name: getattr(settings, name) for name in sorted(SECRETS)}


def with_secrets(settings: NodeSettings, secrets: Mapping[str, str]) -> NodeSettings:
    """Put back what was kept sealed."""
    return replace(
        settings, remotesigningmacaroon=secrets.get("remotesigningmacaroon", "")
    )


def _known(given: object) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise Malformed("settings: must be an object")
    sent = {name: value for name, value in given.items() if name not in IGNORED}
    for name in sent:
        if name not in NAMES:
            spelled = name if _SPEAKABLE.fullmatch(str(name)) else "a name"
            raise Malformed(f"settings: {spelled} is not a setting")
    return sent


def _read(values: Mapping[str, object], webhooks: Allowed) -> NodeSettings:
    read = _Reader(values)
    settings = NodeSettings(
        autopilot=read.boolean("autopilot"),
        grpc=read.boolean("grpc"),
        rest=read.boolean("rest"),
        keysend=read.boolean("keysend"),
        whitelist=whitelist.parse(values["whitelist"]),
        alias=_alias(read.text("alias")),
        color=_color(read.text("color")),
        wumbo=read.boolean("wumbo"),
        webhook=read.text("webhook"),
        minchansize=read.digits("minchansize"),
        maxchansize=read.digits("maxchansize", least=1),
        autocompaction=read.boolean("autocompaction"),
        defaultfeerate=read.digits("defaultfeerate", most=_LARGEST_ON_THE_WIRE),
        basefee=read.digits("basefee", most=_LARGEST_ON_THE_WIRE),
        amp=read.boolean("amp"),
        wtclient=read.boolean("wtclient"),
        maxpendingchannels=read.digits("maxpendingchannels"),
        allowcircularroute=read.boolean("allowcircularroute"),
        numgraphsyncpeers=read.digits("numgraphsyncpeers"),
        gccanceledinvoicesonstartup=read.boolean("gccanceledinvoicesonstartup"),
        gccanceledinvoicesonthefly=read.boolean("gccanceledinvoicesonthefly"),
        torskipproxyforclearnettargets=read.boolean("torskipproxyforclearnettargets"),
        rpcmiddleware=read.boolean("rpcmiddleware"),
        optionscidalias=read.boolean("optionscidalias"),
        zeroconf=read.boolean("zeroconf"),
        remotesigning=read.boolean("remotesigning"),
        remotesigninghost=read.text("remotesigninghost"),
        remotesigningmacaroon=read.text("remotesigningmacaroon"),
        remotesigningcert=read.text("remotesigningcert"),
    )
    if settings.webhook:
        webhook_urls.check(settings.webhook, webhooks)
    _check_channel_sizes(settings)
    _check_zero_confirmation(settings)
    _check_remote_signer(settings)
    return settings


class _Reader:
    """Reads one value at a time, strictly: "1" is no number and 1 is no boolean."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values

    def boolean(self, name: str) -> bool:
        value = self._values[name]
        if not isinstance(value, bool):
            raise Malformed(f"{name}: must be true or false")
        return value

    def text(self, name: str) -> str:
        value = self._values[name]
        if not isinstance(value, str):
            raise Malformed(f"{name}: must be a string")
        return value

    def digits(self, name: str, *, least: int = 0, most: int | None = None) -> str:
        value = self.text(name)
        if not value:
            return ""
        if not _DIGITS.fullmatch(value):
            raise Malformed(f"{name}: must be a string of 1 to 16 digits, or empty")
        if int(value) < least:
            raise Malformed(f"{name}: must be at least {least}, or empty")
        if most is not None and int(value) > most:
            raise Malformed(f"{name}: must be at most {most}")
        return value


def _alias(text: str) -> str:
    alias = composed(text, most=_LONGEST_ALIAS) or ""
    if alias and any(unicodedata.category(each) in _UNSHOWABLE for each in text):
        raise Malformed("alias: must not hold control, format or line characters")
    if not 1 <= len(alias.encode()) <= _LONGEST_ALIAS:
        raise Malformed(f"alias: must have 1 to {_LONGEST_ALIAS} bytes of UTF-8")
    if alias.startswith('"'):  # lnd would take it for the start of a quoted value
        raise Malformed('alias: must not begin with "')
    return alias


def _color(text: str) -> str:
    if not _COLOR.fullmatch(text):
        raise Malformed("color: must look like #RRGGBB")
    return text


def _check_channel_sizes(settings: NodeSettings) -> None:
    """Refuse what lnd refuses at its start, an unset size counting as its default."""
    largest = LARGEST_WUMBO_CHANNEL if settings.wumbo else LARGEST_CHANNEL
    most = int(settings.maxchansize or largest)
    if most > largest:
        raise Malformed(
            f"maxchansize: must be at most {LARGEST_CHANNEL}, "
            f"or {LARGEST_WUMBO_CHANNEL} with wumbo"
        )
    if int(settings.minchansize or SMALLEST_CHANNEL) > most:
        field_ = "minchansize" if settings.minchansize else "maxchansize"
        raise Malformed(
            f"{field_}: minchansize ({SMALLEST_CHANNEL} when empty) must not be larger "
            f"than maxchansize ({largest} when empty)"
        )


def _check_zero_confirmation(settings: NodeSettings) -> None:
    if settings.zeroconf and not settings.optionscidalias:
        raise Malformed("zeroconf: needs optionscidalias to be true as well")


def _check_remote_signer(settings: NodeSettings) -> None:
    parts = {
        "remotesigninghost": remote_signers.check_host,
        "remotesigningmacaroon": remote_signers.macaroon_bytes,
        "remotesigningcert": remote_signers.certificate_pem,
    }
    for name, check in parts.items():
        value = getattr(settings, name)
        if value:
            check(value, field=name)
        elif settings.remotesigning:
            raise Malformed(f"{name}: is required when remotesigning is true")


def _check_signer_address(settings: NodeSettings, calls: Calls) -> None:
    remote_signers.check_address(
        settings.remotesigninghost, calls.remotesigninghost, field="remotesigninghost"
    )
