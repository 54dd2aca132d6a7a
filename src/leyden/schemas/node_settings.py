"""The one table of node settings: a new setting is a field here, and nothing else.

From it are made the checks of settings, lnd.conf, what the API takes and shows, the
options of the command line and the fields of the dashboard's forms. The order is the
contract's, and so are the names, letter for letter. A setting that came later has a
default, for nodes that were made before it. A replica of the version before this one
drops it when it changes others (docs/decisions/0112).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Generic, TypeVar, get_args
from urllib.parse import urlsplit

from msgspec import NODEFAULT, Meta

from leyden.schemas.settings import Group, Setting, SettingKind
from leyden.values import Struct, fields, replace

_LARGEST_ON_THE_WIRE: Final = 2**32 - 1  # fees travel to peers as 32 bits

MASK: Final = "********"  # shown instead of a secret; sent back, it changes nothing
Addresses = TypeVar("Addresses", bound=Sequence[str])
Shown = TypeVar("Shown")


class NodeSettingFields(Struct, Generic[Addresses], frozen=True, kw_only=True):
    """All settings of a node; optional ones have defaults."""

    autopilot: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Autopilot",
            help="Let lnd open channels automatically, with the wallet's coins.",
            group=Group.IDENTITY,
            order=6,
            suggested=False,
            lnd="autopilot.active",
        ),
    ]
    # lnd serves REST and gRPC on its private address whatever is chosen here, because
    # the platform has to watch it; it is the gateway that lets nobody through.
    grpc: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="gRPC",
            help="Serve gRPC, which lncli and most libraries use.",
            group=Group.IDENTITY,
            order=4,
            suggested=True,
        ),
    ]
    rest: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="REST",
            help="Serve REST, which browsers, wallets and curl use.",
            group=Group.IDENTITY,
            order=3,
            suggested=True,
        ),
    ]
    keysend: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Keysend",
            help="Accept payments without an invoice.",
            group=Group.IDENTITY,
            order=5,
            suggested=True,
            lnd="accept-keysend",
        ),
    ]
    whitelist: Annotated[
        Addresses,
        Setting(
            kind=SettingKind.ADDRESSES,
            label="Allowed IP addresses",
            help="The IP addresses and CIDR blocks that can reach the node.",
        ),
    ]
    alias: Annotated[
        str,
        Setting(
            kind=SettingKind.ALIAS,
            label="Alias",
            help="Name that other nodes see, at most 32 bytes. Empty: the node's name.",
            group=Group.IDENTITY,
            order=1,
            lnd="alias",
        ),
    ]
    color: Annotated[
        str,
        Setting(
            kind=SettingKind.COLOR,
            label="Color",
            help="Color of the node on network maps, as #RRGGBB.",
            group=Group.IDENTITY,
            order=2,
            suggested="#3399ff",  # lnd's own
            lnd="color",
        ),
    ]
    wumbo: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Large channels",
            help="Allow channels above 16,777,215 sat.",
            group=Group.CHANNELS,
            lnd="protocol.wumbo-channels",
        ),
    ] = True
    webhook: Annotated[
        str,
        Setting(
            kind=SettingKind.URL,
            label="Webhook",
            help="The URL that gets the node's events.",
        ),
    ] = ""
    minchansize: Annotated[
        str,
        Setting(
            kind=SettingKind.DIGITS,
            label="Minimum channel size",
            help="In sat. Smaller channels from peers are rejected. Empty: 20,000.",
            group=Group.CHANNELS,
            lnd="minchansize",
        ),
    ] = ""
    maxchansize: Annotated[
        str,
        Setting(
            kind=SettingKind.DIGITS,
            label="Maximum channel size",
            help="In sat. Larger channels from peers are rejected. Empty: no limit.",
            group=Group.CHANNELS,
            least=1,
            lnd="maxchansize",
        ),
    ] = ""
    autocompaction: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Compact the database",
            help="Compact the database at each start, which then takes longer.",
            group=Group.HOUSEKEEPING,
            order=2,
            lnd="db.bolt.auto-compact",
        ),
    ] = False
    defaultfeerate: Annotated[
        str,
        Setting(
            kind=SettingKind.DIGITS,
            label="Fee rate",
            help="In ppm of each forwarded payment. Empty: 1.",
            group=Group.ROUTING,
            order=2,
            maximum=_LARGEST_ON_THE_WIRE,
            lnd="bitcoin.feerate",
        ),
    ] = ""
    basefee: Annotated[
        str,
        Setting(
            kind=SettingKind.DIGITS,
            label="Base fee",
            help="In msat for each forwarded payment. Empty: 1,000.",
            group=Group.ROUTING,
            order=1,
            maximum=_LARGEST_ON_THE_WIRE,
            lnd="bitcoin.basefee",
        ),
    ] = ""
    amp: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="AMP",
            help="Accept payments that are split over several paths.",
            group=Group.ROUTING,
            order=3,
            lnd="accept-amp",
        ),
    ] = True
    wtclient: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Watchtowers",
            help=(
                "Let watchtowers that you add protect your channels while the node is "
                "down."
            ),
            group=Group.HOUSEKEEPING,
            order=1,
            lnd="wtclient.active",
        ),
    ] = False
    maxpendingchannels: Annotated[
        str,
        Setting(
            kind=SettingKind.DIGITS,
            label="Pending channels per peer",
            help="Maximum pending channels per peer. Empty: 1.",
            group=Group.CHANNELS,
            lnd="maxpendingchannels",
        ),
    ] = ""
    allowcircularroute: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Circular routes",
            help="Forward payments that return over the same channel.",
            group=Group.ROUTING,
            order=4,
            lnd="allow-circular-route",
        ),
    ] = False
    numgraphsyncpeers: Annotated[
        str,
        Setting(
            kind=SettingKind.DIGITS,
            label="Graph sync peers",
            help="Number of peers to sync the network graph from. Empty: 3.",
            group=Group.ROUTING,
            order=5,
            lnd="numgraphsyncpeers",
        ),
    ] = ""
    gccanceledinvoicesonstartup: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Delete cancelled invoices at start",
            help="At each start, lnd forgets cancelled invoices, which keeps its "
            "database small.",
            group=Group.HOUSEKEEPING,
            order=3,
            lnd="gc-canceled-invoices-on-startup",
        ),
    ] = False
    gccanceledinvoicesonthefly: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Delete cancelled invoices at once",
            help="lnd forgets an invoice once it is cancelled, which keeps its "
            "database small.",
            group=Group.HOUSEKEEPING,
            order=4,
            lnd="gc-canceled-invoices-on-the-fly",
        ),
    ] = False
    torskipproxyforclearnettargets: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Tor for onion addresses",
            help="Connect to peers with onion addresses over Tor, to others directly. "
            "Needs an operator with Tor.",
            group=Group.HOUSEKEEPING,
            order=6,
            lnd="tor.skip-proxy-for-clearnet-targets",
        ),
    ] = False
    rpcmiddleware: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="RPC middleware",
            help="Let your own program inspect calls before lnd runs them.",
            group=Group.HOUSEKEEPING,
            order=5,
            lnd="rpcmiddleware.enable",
        ),
    ] = False
    optionscidalias: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Channel aliases",
            help="Let invoices name private channels by an alias.",
            group=Group.CHANNELS,
            lnd="protocol.option-scid-alias",
        ),
    ] = False
    zeroconf: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Zero-conf channels",
            help="Accept unconfirmed channels from peers you trust. "
            "Needs channel aliases.",
            group=Group.CHANNELS,
            lnd="protocol.zero-conf",
        ),
    ] = False
    remotesigning: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Remote signing",
            help="Your own lnd has the keys and signs for this node. Turn it on before "
            "you create the wallet.",
            group=Group.SIGNER,
            lnd="remotesigner.enable",
        ),
    ] = False
    remotesigninghost: Annotated[
        str,
        Setting(
            kind=SettingKind.HOST,
            label="Signer address",
            help="HOST:PORT of the signer's gRPC.",
            group=Group.SIGNER,
            lnd="remotesigner.rpchost",
            needs="remotesigning",
        ),
    ] = ""
    remotesigningmacaroon: Annotated[
        str,
        Setting(
            kind=SettingKind.MACAROON,
            label="Signer macaroon",
            help=(
                "A macaroon of the signer, in hex. Stored encrypted and never shown "
                "again; leave it unchanged to keep it."
            ),
            group=Group.SIGNER,
            option="--remote-macaroon-file",
            lnd="remotesigner.macaroonpath",
            needs="remotesigning",
            file="remote-signer.mac",  # not *.macaroon: those are swept
        ),
    ] = ""
    remotesigningcert: Annotated[
        str,
        Setting(
            kind=SettingKind.CERTIFICATE,
            label="Signer certificate",
            help="The TLS certificate of the signer, as PEM.",
            group=Group.SIGNER,
            lnd="remotesigner.tlscertpath",
            needs="remotesigning",
            file="remote-signer.cert",
        ),
    ] = ""
    # Beyond the contract.
    listen: Annotated[
        bool,
        Setting(
            kind=SettingKind.SWITCH,
            label="Peer address",
            help=(
                "Let other nodes connect to this node and open channels to it, at a "
                "public address that it announces."
            ),
            group=Group.CHANNELS,
            order=1,
            placed=True,
        ),
    ] = False


class SettingsAnswer(NodeSettingFields[list[str]], frozen=True, kw_only=True):
    """A node's settings; the remote signer's macaroon is never returned."""

    sphinx: Annotated[bool, Meta(description="Always false: reserved.")]
    webhook_secret: Annotated[
        str, Meta(description="The secret that your webhook events are signed with.")
    ]


def _table() -> Mapping[str, Setting]:
    return {
        field.name: replace(
            get_args(field.type)[1],
            name=field.name,
            is_required=field.required,
            default=None if field.default is NODEFAULT else field.default,
        )
        for field in fields(NodeSettingFields)
    }


# In the contract's order, and in that of forms; what no form shows comes last.
TABLE: Final = _table()
IN_FORMS: Final = tuple(
    setting
    for group in (*Group, None)
    for setting in sorted(TABLE.values(), key=lambda each: each.order)
    if setting.group is group
)


def for_log(name: str, value: Shown) -> Shown | str:
    """Return a setting's value in a form for logs; of a URL, scheme and host.

    A value that is masked already stays unchanged, as does one of an unknown setting.
    """
    setting = TABLE.get(name)
    if setting is None or not setting.is_hidden or not value:
        return value
    if setting.kind is SettingKind.URL:
        url = urlsplit(str(value))
        return f"{url.scheme}://{url.netloc}/…"
    return MASK
