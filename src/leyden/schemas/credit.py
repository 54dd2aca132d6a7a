"""Request and response schemas of coupons, credit and the ledger."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import HasMore, Time


class CouponReference(msgspec.Struct, forbid_unknown_fields=True):
    """A reference to a coupon."""

    coupon: Annotated[str, Meta(max_length=100, description="The coupon.")]


class LedgerQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Pagination and output format of the ledger."""

    limit: Annotated[
        Annotated[int, Meta(ge=1, le=500)] | UnsetType,
        Meta(description="Number of entries. Default: 100; as CSV, all."),
    ] = UNSET
    cursor: Annotated[
        int, Meta(ge=0, le=2**63 - 1, description="`next_cursor` of the last page.")
    ] = 0
    format: Annotated[
        Literal["json", "csv"] | UnsetType,
        Meta(description="Format. Default: from the Accept header, or json."),
    ] = UNSET


class CouponAnswer(msgspec.Struct):
    """A coupon."""

    amount: Annotated[int, Meta(description="Value of the coupon, in satoshis.")]
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
    coupon_amount: Annotated[int, Meta(description="Value of the coupon, in satoshis.")]


class BalanceAnswer(msgspec.Struct):
    """The account's balance and credit."""

    balance: Annotated[
        int, Meta(description="Credit minus what the account owes, in satoshis.")
    ]
    credit: Annotated[int, Meta(description="What you can spend, in satoshis.")]


class LedgerEntry(msgspec.Struct):
    """A ledger entry."""

    id: Annotated[
        int, Meta(description="Number of the entry; later entries have larger numbers.")
    ]
    time: Time
    what: Annotated[str, Meta(description="What happened, in one word.")]
    source: Annotated[str, Meta(description="The account the amount came from.")]
    target: Annotated[str, Meta(description="The account the amount went to.")]
    amount: Annotated[int, Meta(description="The amount, in satoshis.")]
    order_id: Annotated[str, Meta(description="The order of this entry, or empty.")]
    note: Annotated[str, Meta(description="A note from the operator, or empty.")]


class LedgerAnswer(msgspec.Struct):
    """A page of ledger entries, newest first."""

    entries: Annotated[
        list[LedgerEntry], Meta(description="The entries, newest first.")
    ]
    next_cursor: Annotated[
        int, Meta(description="`cursor` of the next page; 0 on the last.")
    ]
    has_more: HasMore = False
