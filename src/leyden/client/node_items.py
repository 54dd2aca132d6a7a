"""What the API tells of nodes."""

import msgspec


class NodeItem(msgspec.Struct, kw_only=True):
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


class CommandItem(msgspec.Struct, kw_only=True):
    """One thing that was asked of a node."""

    action: str
    time: str


class NodeSettings(msgspec.Struct, kw_only=True):
    """A node's settings; docs/api.md tells what each is."""

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


class Node(NodeItem, kw_only=True):
    """A node, with its settings and what was asked of it, newest first."""

    command_history: list[CommandItem]
    settings: NodeSettings


class CreatedNode(msgspec.Struct, kw_only=True):
    """The node that was made."""

    node_id: str
    owner_id: str
    network: str
    created: str
    purchased_type: str
    type: str


class UpdatedNode(msgspec.Struct, kw_only=True):
    """What a node is being brought to."""

    node_id: str
    lnd_version: str
    service_version: str


class Connection(msgspec.Struct, kw_only=True):
    """How a node is reached."""

    node_id: str
    api_endpoint: str
    rest_url: str
    grpc_address: str
    tls_cert: str
    lndconnect: str
    hosts_line: str


class Metrics(msgspec.Struct, kw_only=True):
    """What a node takes, and what went through the gateway to and from it."""

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


class VersionItem(msgspec.Struct, kw_only=True):
    """A version of lnd that can be had, and what one gives up by taking it."""

    lnd_version: str
    default: bool
    says: str
    drops: list[str]


class Versions(msgspec.Struct, kw_only=True):
    """The versions on offer, oldest first."""

    service_version: str
    versions: list[VersionItem]
