"""What a platform offers: networks, versions, sizes of nodes, channels and limits."""

from typing import Annotated

import msgspec
from msgspec import Meta

from leyden.schemas.kinds import Network, NodeType, ServiceVersion
from leyden.schemas.nodes import VersionItem


class NodeSize(msgspec.Struct):
    """A size of nodes; `type` when you create one."""

    type: NodeType
    memory_mb: Annotated[int, Meta(description="Memory of the node, in MiB.")]
    cpus: Annotated[int, Meta(description="Processors that it can use at once.")]


class ChannelsOffer(msgspec.Struct):
    """The channels that are for sale, and how their price is made."""

    sources: Annotated[
        list[
            Annotated[
                str,
                Meta(extra_json_schema={"enum": ["pool", "simulated", "own", "lsps1"]}),
            ]
        ],
        Meta(
            description="Where channels come from: `own`, or `lsps1` (another LSP), "
            "for a node that the order names; `pool` or `simulated`, with a ticket."
        ),
    ]
    smallest_capacity: Annotated[
        int, Meta(description="The smallest capacity, in satoshis.")
    ]
    largest_capacity: Annotated[
        int, Meta(description="The largest capacity with a ticket, in satoshis.")
    ]
    largest_direct_capacity: Annotated[
        int, Meta(description="The largest capacity for a named node, in satoshis.")
    ]
    capacity_step: Annotated[
        int, Meta(description="Each capacity is a multiple of this, in satoshis.")
    ]
    lease_duration_blocks: Annotated[
        list[int], Meta(description="The durations of leases, in blocks.")
    ]
    rate_bps: Annotated[
        int,
        Meta(
            description="The premium for the shortest lease, in hundredths of a "
            "percent of the capacity. Longer ones cost proportionally more."
        ),
    ]
    service_fee_base: Annotated[
        int, Meta(description="Part of `service_fee` of each order, in satoshis.")
    ]
    service_fee_ppm: Annotated[
        int,
        Meta(description="Part of `service_fee`, in millionths of the capacity."),
    ]
    self_chan_balance_ppm: Annotated[
        int,
        Meta(
            description="Margin in `self_chan_balance_fee`, in millionths of the "
            "starting balance."
        ),
    ]
    keeps_unused_pool_fee: Annotated[
        bool, Meta(description="Whether the unused part of `pool_fee` is kept.")
    ]
    quote_holds_s: Annotated[
        int, Meta(description="How long a quote is valid, in seconds.")
    ]
    order_lives_s: Annotated[
        int, Meta(description="How long you have to pay an order, in seconds.")
    ]
    lsps1: Annotated[
        bool, Meta(description="Whether wallets can buy channels over LSPS1.")
    ]


class PlatformLimits(msgspec.Struct):
    """Limits that hold for every key; see also your organization's quotas."""

    requests_per_minute: Annotated[int, Meta(description="Requests with one key.")]
    event_waits_per_key: Annotated[
        int, Meta(description="Requests of one key that wait for events at a time.")
    ]
    body_bytes: Annotated[int, Meta(description="The largest body of a request.")]
    whitelist_entries: Annotated[
        int, Meta(description="Entries in the whitelist of a node.")
    ]
    webhook_tests_per_minute: Annotated[
        int, Meta(description="Webhook tests and redeliveries to one host.")
    ]


class PlatformAnswer(msgspec.Struct):
    """What the platform offers."""

    service_version: ServiceVersion
    networks: Annotated[
        list[Network], Meta(description="The networks that nodes can be on.")
    ]
    versions: Annotated[
        list[VersionItem], Meta(description="The versions of lnd, oldest first.")
    ]
    node_sizes: Annotated[list[NodeSize], Meta(description="The sizes of nodes.")]
    channels: Annotated[
        ChannelsOffer | None,
        Meta(description="The channels that are for sale; null if there are none."),
    ]
    limits: Annotated[PlatformLimits, Meta(description="Limits that hold for all.")]
