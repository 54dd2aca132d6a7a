"""Request and response schemas of the node endpoints."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import (
    Created,
    CreatedAfter,
    CreatedBefore,
    Endpoint,
    LndVersion,
    Network,
    NodeId,
    NodeName,
    NodeStatus,
    NodeType,
    OnionAddress,
    PeerAddress,
    PurchasedType,
    ServiceVersion,
    ShownNodeStatus,
    Time,
    one_of,
)
from leyden.schemas.node_settings import SettingsAnswer
from leyden.schemas.settings_sent import NewSettings, Text


class NewNode(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The node to create."""

    name: Annotated[
        Text,
        Meta(description="1 to 50 letters, digits, spaces, `_`, `.` or `-`; unique."),
    ]
    network: Annotated[
        Literal["testnet", "mainnet"],
        Meta(description="The node's network; you can't change it later."),
    ]
    type: Annotated[
        Literal["standard", "professional"],
        Meta(description="The node's size: its memory, processor and disk."),
    ]
    version: Annotated[
        Text | UnsetType,
        Meta(
            description=(
                "A version from `GET /versions`. Default: the default version there."
            )
        ),
    ] = UNSET
    settings: Annotated[
        NewSettings,
        Meta(description="The settings of the node; seven of them are required."),
    ]


class Update(msgspec.Struct, forbid_unknown_fields=True):
    """The target version; must be one of GET /versions.

    Without a version, the node goes to the newest one of its own minor
    version or of the default's.
    """

    version: Annotated[
        Text | UnsetType,
        Meta(description="The target version. Default: the newest."),
    ] = UNSET


class LogQuery(msgspec.Struct, forbid_unknown_fields=True):
    """The number of log lines to return."""

    lines: Annotated[
        int, Meta(ge=1, le=1_000, description="Number of lines to return.")
    ] = 100


class NodeItem(msgspec.Struct):
    """A node, as in lists."""

    node_name: NodeName
    status: ShownNodeStatus
    node_id: NodeId
    expires: Annotated[
        str, Meta(description="When the node expires: `never`, or a time.")
    ]
    created: Created
    type: NodeType
    purchased_type: PurchasedType
    purchase_status: Annotated[
        str,
        one_of(
            "`active`, `past_due` or `suspended`.", "active", "past_due", "suspended"
        ),
    ]
    api_endpoint: Endpoint
    network: Network
    lnd_version: LndVersion
    service_version: ServiceVersion
    update_available: Annotated[
        bool, Meta(description="Whether a newer lnd version is available; see update.")
    ]
    peer_address: PeerAddress
    onion_address: OnionAddress
    unknown_since: Annotated[
        str | UnsetType,
        Meta(
            description="Present while the node's machine can't be observed: since "
            "when. `status` is from before.",
            extra_json_schema={"format": "date-time"},
        ),
    ] = UNSET


class NodesQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which nodes to return; by default all."""

    status: Annotated[
        NodeStatus | UnsetType, Meta(description="Only nodes with this status.")
    ] = UNSET
    name: Annotated[
        str | UnsetType, Meta(description="Only the node with this name.")
    ] = UNSET
    created_after: CreatedAfter = UNSET
    created_before: CreatedBefore = UNSET


class NodesAnswer(msgspec.Struct):
    """The organization's nodes, oldest first."""

    nodes: Annotated[
        list[NodeItem], Meta(description="The nodes, without their settings.")
    ]


class CommandItem(msgspec.Struct):
    """One action requested of a node."""

    action: Annotated[
        str,
        Meta(description="`create`, `start`, `stop`, `restart`, `update` and so on."),
    ]
    time: Time


class NodeAnswer(NodeItem, kw_only=True):
    """A node with its settings and its activity, newest first."""

    command_history: Annotated[
        list[CommandItem], Meta(description="The last 100 actions, newest first.")
    ]
    settings: Annotated[SettingsAnswer, Meta(description="The node's settings.")]
    status_reason: Annotated[
        str | UnsetType,
        Meta(
            description="Why lnd could not be started, or why it ended last time; "
            "present only until it runs again."
        ),
    ] = UNSET


class CreatedNode(msgspec.Struct):
    """The created node."""

    node_id: NodeId
    owner_id: Annotated[str, Meta(description="Your organization's id.")]
    network: Network
    created: Created
    purchased_type: PurchasedType
    type: NodeType


class UpdatedNode(msgspec.Struct):
    """The version that the node is being updated to."""

    node_id: NodeId
    lnd_version: LndVersion
    service_version: ServiceVersion


class LogAnswer(msgspec.Struct):
    """The last lines of lnd's log, oldest first."""

    node_id: NodeId
    lines: Annotated[list[str], Meta(description="Lines of the log, oldest first.")]


class MetricsAnswer(msgspec.Struct):
    """A node's resource usage, and its traffic through the gateway.

    What is not known is null.
    """

    node_id: NodeId
    status: ShownNodeStatus
    uptime_s: Annotated[int, Meta(description="Seconds since lnd was started.")]
    crashes: Annotated[
        int, Meta(description="Crashes in a row; 0 after lnd has run for a while.")
    ]
    memory_bytes: Annotated[
        int | None,
        Meta(description="Memory in use, in bytes; null if it is not known."),
    ]
    cpu_s: Annotated[
        float | None,
        Meta(
            description="Processor time used since the start, in seconds; null in a "
            "cluster, which counts none."
        ),
    ]
    cpu_cores: Annotated[
        float | None,
        Meta(
            description="Processors in use on average, in the last half minute: 0.5 is "
            "half of one; null if it is not known."
        ),
    ]
    disk_bytes: Annotated[
        int | None,
        Meta(description="Disk space in use, in bytes; null if it is not known."),
    ]
    connections: Annotated[
        int | None,
        Meta(
            description="Connections through the gateway so far; null where gateways "
            "run on other machines."
        ),
    ]
    bytes_in: Annotated[
        int | None,
        Meta(
            description="Bytes sent to the node through the gateway; null where "
            "gateways run on other machines."
        ),
    ]
    bytes_out: Annotated[
        int | None,
        Meta(
            description="Bytes sent by the node through the gateway; null where "
            "gateways run on other machines."
        ),
    ]


class VersionItem(msgspec.Struct):
    """An available lnd version, and the features it drops."""

    lnd_version: LndVersion
    default: Annotated[
        bool, Meta(description="Whether new nodes get this version by default.")
    ]
    says: Annotated[str, Meta(description="Description of the version.")]
    drops: Annotated[
        list[str], Meta(description="Features that this version of lnd removed.")
    ]


class VersionsAnswer(msgspec.Struct):
    """The available lnd versions, oldest first."""

    service_version: ServiceVersion
    versions: Annotated[
        list[VersionItem], Meta(description="The versions, oldest first.")
    ]
