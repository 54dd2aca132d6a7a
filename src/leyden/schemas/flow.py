"""Request and response schemas of the ordering endpoints."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import Created, OrderId, Time

# Parts of a price, the same in a quote and in an order.
ServiceFee = Annotated[int, Meta(description="What the platform charges, in satoshis.")]
PoolFee = Annotated[
    int,
    Meta(description="What the seller and the network may take at most, in satoshis."),
]
BalanceFee = Annotated[
    int, Meta(description="Your own starting balance and its margin, in satoshis.")
]
TotalFee = Annotated[
    int, Meta(description="The price: the sum of the three fees, in satoshis.")
]
AmountDue = Annotated[
    int, Meta(description="What is left to pay after credit, in satoshis.")
]
Capacity = Annotated[int, Meta(description="The size of the channel, in satoshis.")]
StartingBalance = Annotated[
    int, Meta(description="Your starting balance in the channel, in satoshis.")
]
Lease = Annotated[
    int, Meta(description="The minimum lifetime of the channel, in blocks.")
]
RatePpb = Annotated[
    int,
    Meta(
        description="The premium in parts per billion per block, as the auction has it."
    ),
]
CreditUsed = Annotated[
    int, Meta(description="How much of the price your credit covers, in satoshis.")
]


class OrderReference(msgspec.Struct, forbid_unknown_fields=True):
    """A reference to an order."""

    order_id: Annotated[OrderId, Meta(max_length=100)]


class CouponReference(msgspec.Struct, forbid_unknown_fields=True):
    """A reference to a coupon."""

    coupon: Annotated[str, Meta(max_length=100, description="The coupon.")]


class OrdersQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Pagination of the orders list."""

    limit: Annotated[
        int, Meta(ge=1, le=100, description="How many orders to return.")
    ] = 50
    cursor: Annotated[
        str, Meta(max_length=100, description="`next_cursor` of the last page.")
    ] = ""


class LedgerQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Pagination and output format of the ledger."""

    limit: Annotated[
        Annotated[int, Meta(ge=1, le=500)] | UnsetType,
        Meta(description="How many entries. Default: 100, and all as CSV."),
    ] = UNSET
    cursor: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="`next_cursor` of the last page.")
    ] = 0
    format: Annotated[
        Literal["json", "csv"] | UnsetType,
        Meta(description="Default: what the Accept header names, or json."),
    ] = UNSET


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
        Meta(description="Only where what is not used of pool_fee is not credited."),
    ] = UNSET
    source: Annotated[
        str | UnsetType,
        Meta(
            description="Where it comes from: `pool` is the public auction, by a "
            "ticket; `own` is this platform itself, for the node that you name."
        ),
    ] = UNSET


class _OrderFields(msgspec.Struct):
    order_id: OrderId
    creation_date: Created
    status: Annotated[
        str, Meta(description="The state of the order; see Order states.")
    ]
    paid: Annotated[bool, Meta(description="Whether the full amount has arrived.")]
    order_nonce: Annotated[
        str,
        Meta(description="The nonce of the bid in the auction, once it is submitted."),
    ]
    capacity: Capacity
    self_chan_balance: StartingBalance
    lease_duration_blocks: Lease
    node_tier: Annotated[
        str, Meta(description="`best` or `any`: which sellers are accepted.")
    ]
    rate_fixed: RatePpb
    sidecar_ticket: Annotated[
        str,
        Meta(
            description="The ticket, or empty. Whoever registers it gets the channel."
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
        str | UnsetType, Meta(description="That node, where it is one of yours here.")
    ] = UNSET
    announce: Annotated[
        bool | UnsetType,
        Meta(description="With a node: whether the channel is announced to all."),
    ] = UNSET
    zero_conf: Annotated[
        bool | UnsetType,
        Meta(description="With a node: whether it is usable before it confirms."),
    ] = UNSET
    seller_uri: Annotated[
        str | UnsetType,
        Meta(
            description="With a node: connect your node to this while the order is "
            "`created`."
        ),
    ] = UNSET
    peer: Annotated[
        str | UnsetType, Meta(description="The public key of the seller's node.")
    ] = UNSET
    lease_ends: Annotated[
        str | UnsetType,
        Meta(
            description="About when the lease ends, at ten minutes a block, in "
            "ISO 8601 and UTC."
        ),
    ] = UNSET
    lease_ends_block: Annotated[
        int | UnsetType, Meta(description="The block at which the lease ends.")
    ] = UNSET
    unused_fee: Annotated[
        int | UnsetType,
        Meta(description="What the auction left of `pool_fee`, and you got back."),
    ] = UNSET


class CancelledOrder(_OrderFields):
    """A cancelled order."""

    credit_refund: Annotated[
        int, Meta(description="What was paid and became credit, in satoshis.")
    ]


class OrdersAnswer(msgspec.Struct):
    """A page of orders, newest first."""

    orders: Annotated[list[OrderAnswer], Meta(description="The orders, newest first.")]
    next_cursor: Annotated[
        str, Meta(description="`cursor` of the next page; empty on the last.")
    ]


class CouponAnswer(msgspec.Struct):
    """A coupon."""

    amount: Annotated[int, Meta(description="What the coupon is worth, in satoshis.")]
    order_id: Annotated[
        str, Meta(description="The coupon's id: a UUID and the letters FC.")
    ]
    claimed: Annotated[bool, Meta(description="Whether the coupon has been redeemed.")]


class CouponsAnswer(msgspec.Struct):
    """All coupons, used and unused."""

    coupons: Annotated[
        list[CouponAnswer], Meta(description="The coupons issued to your organization.")
    ]


class Redeemed(msgspec.Struct):
    """A redeemed coupon."""

    coupon: Annotated[str, Meta(description="The coupon that was redeemed.")]
    credit: Annotated[
        int, Meta(description="Your credit after redeeming it, in satoshis.")
    ]
    coupon_amount: Annotated[
        int, Meta(description="What the coupon was worth, in satoshis.")
    ]


class BalanceAnswer(msgspec.Struct):
    """The account's balance and credit."""

    balance: Annotated[
        int, Meta(description="Credit minus what the account owes, in satoshis.")
    ]
    credit: Annotated[int, Meta(description="What you can spend, in satoshis.")]


class LedgerEntry(msgspec.Struct):
    """A ledger entry."""

    id: Annotated[
        int, Meta(description="The number of the entry: a later one is larger.")
    ]
    time: Time
    what: Annotated[str, Meta(description="What happened, in one word.")]
    source: Annotated[str, Meta(description="The account the amount came from.")]
    target: Annotated[str, Meta(description="The account the amount went to.")]
    amount: Annotated[int, Meta(description="The amount, in satoshis.")]
    order_id: Annotated[str, Meta(description="The order it belongs to, or empty.")]
    note: Annotated[str, Meta(description="A note from the operator, or empty.")]


class LedgerAnswer(msgspec.Struct):
    """A page of ledger entries, newest first."""

    entries: Annotated[
        list[LedgerEntry], Meta(description="The entries, newest first.")
    ]
    next_cursor: Annotated[
        int, Meta(description="`cursor` of the next page; 0 on the last.")
    ]
