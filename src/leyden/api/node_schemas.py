"""What the node endpoints take and give, in the contract's own words."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.domain.nodes import Listed, Node
from leyden.domain.times import to_iso
from leyden.services.nodes import View

Text = Annotated[str, Meta(max_length=65_536)]


class SettingsChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Some of a node's settings; what is not sent stays as it is.

    `sphinx` and `webhook_secret` may be sent back as they were shown, and are ignored.
    """

    autopilot: bool | UnsetType = UNSET
    grpc: bool | UnsetType = UNSET
    rest: bool | UnsetType = UNSET
    keysend: bool | UnsetType = UNSET
    whitelist: list[str] | UnsetType = UNSET
    alias: Text | UnsetType = UNSET
    color: Text | UnsetType = UNSET
    wumbo: bool | UnsetType = UNSET
    webhook: Text | UnsetType = UNSET
    minchansize: Text | UnsetType = UNSET
    maxchansize: Text | UnsetType = UNSET
    autocompaction: bool | UnsetType = UNSET
    defaultfeerate: Text | UnsetType = UNSET
    basefee: Text | UnsetType = UNSET
    amp: bool | UnsetType = UNSET
    wtclient: bool | UnsetType = UNSET
    maxpendingchannels: Text | UnsetType = UNSET
    allowcircularroute: bool | UnsetType = UNSET
    numgraphsyncpeers: Text | UnsetType = UNSET
    gccanceledinvoicesonstartup: bool | UnsetType = UNSET
    gccanceledinvoicesonthefly: bool | UnsetType = UNSET
    torskipproxyforclearnettargets: bool | UnsetType = UNSET
    rpcmiddleware: bool | UnsetType = UNSET
    optionscidalias: bool | UnsetType = UNSET
    zeroconf: bool | UnsetType = UNSET
    remotesigning: bool | UnsetType = UNSET
    remotesigninghost: Text | UnsetType = UNSET
    remotesigningmacaroon: Text | UnsetType = UNSET
    remotesigningcert: Text | UnsetType = UNSET
    sphinx: bool | UnsetType = UNSET
    webhook_secret: Text | UnsetType = UNSET

    def sent(self) -> dict[str, object]:
        """Give what was sent, by name."""
        every = msgspec.structs.asdict(self)
        return {name: value for name, value in every.items() if value is not UNSET}


class NewCertificate(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A certificate from elsewhere, and its key, both PEM; {} asks for one of ours."""

    certificate: Text = ""
    key: Text = ""


class NewSettings(SettingsChange, kw_only=True):
    """The settings of a new node; seven of them have no default."""

    autopilot: bool
    grpc: bool
    rest: bool
    keysend: bool
    whitelist: list[str]
    alias: Text
    color: Text


class NewNode(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The node to make."""

    name: Text
    network: Literal["testnet", "mainnet"]
    type: Literal["standard", "professional"]
    version: Annotated[
        Text | UnsetType, Meta(description="One of GET /versions, else the default.")
    ] = UNSET
    settings: NewSettings


class NewWhitelist(msgspec.Struct, forbid_unknown_fields=True):
    """Who may reach the node from now on; nobody, if it is empty."""

    whitelist: list[str]


class Update(msgspec.Struct, forbid_unknown_fields=True):
    """The version to go to: one of GET /versions, else the newest of its own line."""

    version: Text | UnsetType = UNSET


class LogQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How much of the log."""

    lines: Annotated[int, Meta(ge=1, le=1_000)] = 100


class NodeItem(msgspec.Struct):
    """A node, as lists show it."""

    node_name: str
    status: str
    node_id: str
    expires: str
    created: str
    type: str
    purchased_type: str
    purchase_status: str
    api_endpoint: str
    network: str
    lnd_version: str
    service_version: str
    update_available: bool


class NodesAnswer(msgspec.Struct):
    """An organization's nodes, oldest first."""

    nodes: list[NodeItem]


class CommandItem(msgspec.Struct):
    """One thing that was asked of a node."""

    action: str
    time: str


class SettingsAnswer(msgspec.Struct):
    """A node's settings; the remote signer's macaroon is not shown."""

    autopilot: bool
    grpc: bool
    rest: bool
    keysend: bool
    whitelist: list[str]
    alias: str
    color: str
    wumbo: bool
    webhook: str
    minchansize: str
    maxchansize: str
    autocompaction: bool
    defaultfeerate: str
    basefee: str
    amp: bool
    wtclient: bool
    maxpendingchannels: str
    allowcircularroute: bool
    numgraphsyncpeers: str
    gccanceledinvoicesonstartup: bool
    gccanceledinvoicesonthefly: bool
    torskipproxyforclearnettargets: bool
    rpcmiddleware: bool
    optionscidalias: bool
    zeroconf: bool
    remotesigning: bool
    remotesigninghost: str
    remotesigningmacaroon: str
    remotesigningcert: str
    sphinx: bool
    webhook_secret: str


class NodeAnswer(NodeItem):
    """A node, with its settings and what was asked of it, newest first."""

    command_history: list[CommandItem]
    settings: SettingsAnswer


class CreatedNode(msgspec.Struct):
    """The node that was made."""

    node_id: str
    owner_id: str
    network: str
    created: str
    purchased_type: str
    type: str


class UpdatedNode(msgspec.Struct):
    """What the node is being brought to."""

    node_id: str
    lnd_version: str
    service_version: str


class WhitelistAnswer(msgspec.Struct):
    """Who may reach the node, in canonical form."""

    node_id: str
    whitelist: list[str]


class CertificateAnswer(msgspec.Struct):
    """What a client needs to trust the node: base64 of a PEM chain up to the root."""

    node_id: str
    tls_cert: str


class LogAnswer(msgspec.Struct):
    """The last lines of lnd's log, oldest first."""

    node_id: str
    lines: list[str]


class ConnectAnswer(msgspec.Struct):
    """How to reach the node; a macaroon is the owner's own to add."""

    node_id: str
    api_endpoint: str
    rest_url: str
    grpc_address: str
    tls_cert: str
    lndconnect: str
    hosts_line: str


class MetricsAnswer(msgspec.Struct):
    """What the node takes, and what went through the gateway to and from it."""

    node_id: str
    status: str
    uptime_s: int
    crashes: int
    memory_bytes: int
    cpu_s: float
    disk_bytes: int
    connections: int
    bytes_in: int
    bytes_out: int


class VersionItem(msgspec.Struct):
    """A version of lnd that can be had, and what one gives up by taking it."""

    lnd_version: str
    default: bool
    says: str
    drops: list[str]


class VersionsAnswer(msgspec.Struct):
    """The versions on offer, oldest first."""

    service_version: str
    versions: list[VersionItem]


def item(listed: Listed, *, service_version: str, update_available: bool) -> NodeItem:
    """Show a node as lists do."""
    return NodeItem(
        node_name=listed.name,
        status=listed.status,
        node_id=listed.id,
        expires="never" if listed.expires is None else to_iso(listed.expires),
        created=to_iso(listed.created),
        type=listed.type,
        purchased_type=listed.purchased_type,
        purchase_status=listed.purchase_status,
        api_endpoint=listed.api_endpoint,
        network=listed.network,
        lnd_version=listed.version,
        service_version=service_version,
        update_available=update_available,
    )


def single(view: View, shown: NodeItem) -> NodeAnswer:
    """Show a node with all that belongs to it."""
    return NodeAnswer(
        **msgspec.structs.asdict(shown),
        command_history=[
            CommandItem(action=each.action, time=to_iso(each.at))
            for each in view.history
        ],
        settings=msgspec.convert(view.settings, SettingsAnswer),
    )


def created(node: Node) -> CreatedNode:
    """Show what was made."""
    return CreatedNode(
        node_id=node.id,
        owner_id=node.organization_id,
        network=node.network,
        created=to_iso(node.created),
        purchased_type=node.purchased_type,
        type=node.type,
    )
