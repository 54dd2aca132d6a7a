"""Request and response schemas of quotes and orders."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import (
    Created,
    CreatedAfter,
    CreatedBefore,
    Cursor,
    FilteredNodeId,
    HasMore,
    OrderId,
    OrderStatus,
    ShownOrderStatus,
    one_of,
)

# Parts of a price, the same in a quote and in an order.
ServiceFee = Annotated[
    int, Meta(description="Service fee of the platform, in satoshis.")
]
PoolFee = Annotated[
    int,
    Meta(description="Maximum seller and network fees, in satoshis."),
]
BalanceFee = Annotated[
    int, Meta(description="Your own starting balance and its margin, in satoshis.")
]
TotalFee = Annotated[
    int, Meta(description="The price: the sum of the three fees, in satoshis.")
]
AmountDue = Annotated[int, Meta(description="Amount to pay after credit, in satoshis.")]
Capacity = Annotated[int, Meta(description="Capacity of the channel, in satoshis.")]
StartingBalance = Annotated[
    int, Meta(description="Your starting balance in the channel, in satoshis.")
]
Lease = Annotated[
    int, Meta(description="The minimum lifetime of the channel, in blocks.")
]
RatePpb = Annotated[
    int,
    Meta(description="The premium in parts per billion per block, the auction's unit."),
]
CreditUsed = Annotated[
    int, Meta(description="How much of the price your credit covers, in satoshis.")
]


class OrderReference(msgspec.Struct, forbid_unknown_fields=True):
    """A reference to an order."""

    order_id: Annotated[OrderId, Meta(max_length=100)]


_ALL_SATS = 2_100_000_000_000_000  # that will ever exist
ExtensionLease = Annotated[
    int,
    Meta(
        ge=1,
        le=2**31,
        description="How many blocks to add: a lease duration that is sold.",
    ),
]
Premium = Annotated[int, Meta(description="The premium for these blocks, in satoshis.")]
ExtensionFee = Annotated[
    int, Meta(description="The price: premium and service fee, in satoshis.")
]
ExtensionDue = Annotated[
    int,
    Meta(
        description=(
            "Amount to pay by an invoice, in satoshis: nothing if credit and corporate "
            "account cover the price, else all of it."
        )
    ),
]
LeaseEndsBlock = Annotated[
    int, Meta(description="The block at which the lease ends then.")
]


class WantedExtensionQuote(msgspec.Struct, forbid_unknown_fields=True):
    """By how much to extend a lease."""

    lease_duration_blocks: ExtensionLease = 2_016


class WantedExtension(msgspec.Struct, forbid_unknown_fields=True):
    """By how much to extend a lease, and up to which price."""

    lease_duration_blocks: ExtensionLease = 2_016
    max_fee: Annotated[
        Annotated[int, Meta(ge=0, le=_ALL_SATS)] | UnsetType,
        Meta(description="Refuse if the price is more than this, in satoshis."),
    ] = UNSET


class WantedAutoExtend(msgspec.Struct, forbid_unknown_fields=True):
    """How to extend a lease each time before it ends."""

    max_fee: Annotated[
        int,
        Meta(
            ge=1,
            le=_ALL_SATS,
            description="The most that each extension may cost, in satoshis.",
        ),
    ]
    lease_duration_blocks: ExtensionLease = 2_016


class AutoExtend(msgspec.Struct):
    """How a lease is extended each time before it ends, paid from credit."""

    lease_duration_blocks: Annotated[
        int, Meta(description="How many blocks are added each time.")
    ]
    max_fee: Annotated[
        int, Meta(description="The most that each extension may cost, in satoshis.")
    ]


class ExtensionQuoteAnswer(msgspec.Struct):
    """The price of more blocks for a channel's lease."""

    order_id: OrderId
    lease_duration_blocks: Annotated[
        int, Meta(description="How many blocks are added.")
    ]
    service_fee: ServiceFee
    premium: Premium
    total_fee: ExtensionFee
    credit_used: CreditUsed
    amount_due: ExtensionDue
    lease_ends_block: LeaseEndsBlock


class ExtensionAnswer(msgspec.Struct):
    """An extension of a channel's lease."""

    extension_id: Annotated[str, Meta(description="The extension's id.")]
    order_id: OrderId
    creation_date: Created
    status: Annotated[
        str,
        one_of(
            "`extended`, or what became of its invoice; see Extend a lease.",
            *("waiting_payment", "settling", "extended", "expired", "failed"),
        ),
    ]
    lease_duration_blocks: Annotated[
        int, Meta(description="How many blocks are added.")
    ]
    service_fee: ServiceFee
    premium: Premium
    total_fee: ExtensionFee
    credit_used: CreditUsed
    amount_due: ExtensionDue
    lightning_invoice: Annotated[
        str, Meta(description="The Lightning invoice to pay, or empty.")
    ]
    lease_ends_block: LeaseEndsBlock


class ExtensionsAnswer(msgspec.Struct):
    """All extensions of a channel's lease, oldest first."""

    extensions: Annotated[
        list[ExtensionAnswer], Meta(description="The extensions, oldest first.")
    ]


class OrdersQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which orders to return, and the page of them."""

    limit: Annotated[
        int, Meta(ge=1, le=100, description="Number of orders to return.")
    ] = 50
    cursor: Cursor = ""
    status: Annotated[
        OrderStatus | UnsetType, Meta(description="Only orders with this status.")
    ] = UNSET
    node_id: Annotated[
        FilteredNodeId | UnsetType,
        Meta(description="Only orders for this node of your organization."),
    ] = UNSET
    created_after: CreatedAfter = UNSET
    created_before: CreatedBefore = UNSET


class QuoteAnswer(msgspec.Struct):
    """The price of a channel."""

    service_fee: ServiceFee
    pool_fee: PoolFee
    self_chan_balance_fee: BalanceFee
    total_fee: TotalFee
    amount_due: AmountDue
    capacity: Capacity
    self_chan_balance: StartingBalance
    lease_duration_blocks: Lease
    rate_fixed: RatePpb
    rate_bps: Annotated[
        int,
        Meta(
            description="The premium for the whole lease, in hundredths of a percent."
        ),
    ]
    credit_used: CreditUsed
    unused_pool_fee: Annotated[
        Literal["kept"] | UnsetType,
        Meta(
            description=(
                "Present only if the platform keeps the unused part of pool_fee."
            )
        ),
    ] = UNSET
    source: Annotated[
        str | UnsetType,
        Meta(
            description=(
                "Source of the channel: `pool` is the public auction, with a ticket; "
                "`own` is this platform, and `lsps1` another LSP, for the node in the "
                "order."
            ),
            extra_json_schema={"enum": ["pool", "simulated", "own", "lsps1"]},
        ),
    ] = UNSET


class _OrderFields(msgspec.Struct):
    order_id: OrderId
    creation_date: Created
    status: ShownOrderStatus
    paid: Annotated[bool, Meta(description="Whether the full amount has arrived.")]
    order_nonce: Annotated[
        str,
        Meta(description="The nonce of the bid in the auction, once it is submitted."),
    ]
    capacity: Capacity
    self_chan_balance: StartingBalance
    lease_duration_blocks: Lease
    node_tier: Annotated[
        str, one_of("Accepted sellers: `best` or `any`.", "best", "any")
    ]
    rate_fixed: RatePpb
    sidecar_ticket: Annotated[
        str,
        Meta(
            description=(
                "The ticket, or empty. The node that registers it gets the channel."
            )
        ),
    ]
    onchain_address: Annotated[
        str, Meta(description="The Bitcoin address to pay to, or empty.")
    ]
    lightning_invoice: Annotated[
        str, Meta(description="The Lightning invoice to pay, or empty.")
    ]
    service_fee: ServiceFee
    pool_fee: PoolFee
    self_chan_balance_fee: BalanceFee
    total_fee: TotalFee
    amount_due: AmountDue


class OrderAnswer(_OrderFields):
    """An order; fields after `credit_used`: of filled orders, and those for a node."""

    credit_used: CreditUsed
    channel_point: Annotated[
        str | UnsetType,
        Meta(description="The channel of a filled order: `txid:output`."),
    ] = UNSET
    node: Annotated[
        str | UnsetType,
        Meta(
            description="The public key of the node that has the channel, or that an "
            "order with `node` or `node_id` is for."
        ),
    ] = UNSET
    node_id: Annotated[
        str | UnsetType,
        Meta(description="The id of that node, if it is in your organization."),
    ] = UNSET
    announce: Annotated[
        bool | UnsetType,
        Meta(description="With a node: announce the channel to the network."),
    ] = UNSET
    zero_conf: Annotated[
        bool | UnsetType,
        Meta(
            description=(
                "With a node: whether the channel is usable before it confirms."
            )
        ),
    ] = UNSET
    seller_uri: Annotated[
        str | UnsetType,
        Meta(
            description=(
                "With a node: connect your node to this address while the order is "
                "`created`."
            )
        ),
    ] = UNSET
    peer: Annotated[
        str | UnsetType, Meta(description="The public key of the seller's node.")
    ] = UNSET
    lease_ends: Annotated[
        str | UnsetType,
        Meta(
            description=(
                "Estimated end of the lease, at ten minutes per block, in ISO 8601 and "
                "UTC."
            ),
            extra_json_schema={"format": "date-time"},
        ),
    ] = UNSET
    lease_ends_block: Annotated[
        int | UnsetType, Meta(description="The block at which the lease ends.")
    ] = UNSET
    unused_fee: Annotated[
        int | UnsetType,
        Meta(description="The unused part of `pool_fee`, which you got back."),
    ] = UNSET
    auto_extend: Annotated[
        AutoExtend | UnsetType,
        Meta(description="How its lease is extended before it ends, if you chose so."),
    ] = UNSET


class CancelledOrder(_OrderFields):
    """A cancelled order."""

    credit_refund: Annotated[
        int, Meta(description="Amount added to your credit, in satoshis.")
    ]


class OrdersAnswer(msgspec.Struct):
    """A page of orders, newest first."""

    orders: Annotated[list[OrderAnswer], Meta(description="The orders, newest first.")]
    next_cursor: Annotated[
        str, Meta(description="`cursor` of the next page; empty on the last.")
    ]
    has_more: HasMore = False
