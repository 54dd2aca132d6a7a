"""Request and response schemas of the operator API."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from leyden.schemas.kinds import Created, NodeId, OrderId, Time

OrganizationId = Annotated[str, Meta(description="The organization's id.")]
Sat = Annotated[int, Meta(ge=1, le=21 * 10**14)]
Days = Annotated[
    int, Meta(ge=0, le=3_650, description="Days until it expires; 0: it doesn't.")
]
Note = Annotated[str, Meta(max_length=500)]
MemberRole = Literal["owner", "admin", "developer", "billing", "viewer"]
Limit = Annotated[int, Meta(ge=1, le=500, description="The most to return.")]
Cursor = Annotated[
    str, Meta(max_length=100, description="`next_cursor` of the last page.")
]
NextCursor = Annotated[
    str, Meta(description="`cursor` of the next page; empty on the last.")
]
OrNone = str | None


class NewOrganization(msgspec.Struct, forbid_unknown_fields=True):
    """An organization to create."""

    name: Annotated[str, Meta(max_length=200, description="Its name, not in use yet.")]


class OrganizationItem(msgspec.Struct):
    """An organization."""

    organization_id: OrganizationId
    name: Annotated[str, Meta(description="The organization's name.")]
    created: Created


class OrganizationsAnswer(msgspec.Struct):
    """All organizations, oldest first."""

    organizations: Annotated[
        list[OrganizationItem], Meta(description="The organizations, oldest first.")
    ]


class OrganizationAnswer(OrganizationItem):
    """An organization with its money."""

    credit: Annotated[int, Meta(description="What it can spend, in satoshis.")]
    owed: Annotated[int, Meta(description="What it owes you, in satoshis.")]
    most_owed: Annotated[
        int | None,
        Meta(description="The limit of its corporate account; null without one."),
    ]


class AccountLimit(msgspec.Struct, forbid_unknown_fields=True):
    """The limit of a corporate account."""

    most_owed: Annotated[
        Annotated[int, Meta(ge=0, le=21 * 10**14)] | None,
        Meta(description="The most it may owe, in satoshis; null closes the account."),
    ]


class NewCorrection(msgspec.Struct, forbid_unknown_fields=True):
    """An adjustment of an organization's balance."""

    kind: Annotated[
        Literal["credit", "debit", "refund", "settled"],
        Meta(
            description=(
                "`credit` adds, `debit` takes away; `refund` and `settled` record a "
                "payment made elsewhere: of credit, or of what was owed."
            )
        ),
    ]
    amount: Annotated[Sat, Meta(description="The amount, in satoshis.")]
    reason: Annotated[
        Note, Meta(description="Why; the organization sees it in its ledger.")
    ]


class QuotaLimits(msgspec.Struct):
    """The usage and limits of one quota."""

    used: Annotated[int, Meta(description="Current usage.")]
    limit: Annotated[int, Meta(description="The organization's limit.")]
    default: Annotated[int, Meta(description="The limit of organizations without one.")]


class QuotaLimitsAnswer(msgspec.Struct):
    """All quotas of an organization, by name."""

    quotas: Annotated[dict[str, QuotaLimits], Meta(description="The quotas, by name.")]


class QuotaChanges(msgspec.Struct, forbid_unknown_fields=True):
    """New limits of an organization."""

    quotas: Annotated[
        dict[str, int | None],
        Meta(description="New limits by the quota's name; null resets one."),
    ]


class NewMember(msgspec.Struct, forbid_unknown_fields=True):
    """A person to create in an organization."""

    email: Annotated[str, Meta(max_length=300, description="Who has no account yet.")]
    password: Annotated[str, Meta(max_length=1_000, description="The first password.")]
    role: Annotated[MemberRole, Meta(description="The role.")] = "owner"


class MemberItem(msgspec.Struct):
    """A member of an organization."""

    user_id: Annotated[str, Meta(description="The person's id.")]
    email: Annotated[str, Meta(description="The person's email address.")]
    role: Annotated[MemberRole, Meta(description="The role in the organization.")]
    since: Time


class RoleChange(msgspec.Struct, forbid_unknown_fields=True):
    """A member's new role."""

    role: Annotated[MemberRole, Meta(description="The role.")]


class NewInvitation(msgspec.Struct, forbid_unknown_fields=True):
    """Somebody to invite."""

    email: Annotated[str, Meta(max_length=300, description="Whom to invite.")]
    role: Annotated[MemberRole, Meta(description="The role.")] = "developer"


class InvitationItem(msgspec.Struct):
    """An open invitation."""

    invitation_id: Annotated[str, Meta(description="The invitation's id.")]
    email: Annotated[str, Meta(description="Who is invited.")]
    role: Annotated[MemberRole, Meta(description="The role.")]
    expires: Annotated[str, Meta(description="When it expires, in ISO 8601 and UTC.")]


class NewInvitationAnswer(InvitationItem):
    """A new invitation, with its link."""

    link: Annotated[str, Meta(description="The link, which is shown only once.")]
    emailed: Annotated[bool, Meta(description="Whether the link is sent by email.")]


class MembersAnswer(msgspec.Struct):
    """An organization's members and open invitations."""

    members: Annotated[list[MemberItem], Meta(description="In the order of joining.")]
    invitations: Annotated[list[InvitationItem], Meta(description="Oldest first.")]


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """An API key to create."""

    name: Annotated[str, Meta(max_length=200, description="What the key is for.")]
    scopes: Annotated[
        list[Literal["node", "flow"]],
        Meta(min_length=1, max_length=2, description="What it may do."),
    ]
    days: Days = 0


class KeyItem(msgspec.Struct):
    """An API key of an organization, without its secret."""

    key_id: Annotated[str, Meta(description="The key's id.")]
    name: Annotated[str, Meta(description="The key's name.")]
    begins: Annotated[str, Meta(description="The key's first characters.")]
    scopes: Annotated[list[str], Meta(description="What the key may do.")]
    created: Created
    expires: Annotated[OrNone, Meta(description="When it expires; null: never.")]
    last_used: Annotated[OrNone, Meta(description="When it was last used, or null.")]
    revoked: Annotated[OrNone, Meta(description="When it was revoked, or null.")]


class NewKeyAnswer(KeyItem):
    """A new API key."""

    api_key: Annotated[str, Meta(description="The key, which is shown only once.")]


class KeysAnswer(msgspec.Struct):
    """An organization's API keys."""

    keys: Annotated[list[KeyItem], Meta(description="The keys, oldest first.")]


class UserItem(msgspec.Struct):
    """A person who can sign in."""

    user_id: Annotated[str, Meta(description="The person's id.")]
    email: Annotated[str, Meta(description="The person's email address.")]
    created: Created


class UsersAnswer(msgspec.Struct):
    """All people who can sign in."""

    users: Annotated[list[UserItem], Meta(description="The people, oldest first.")]


class Readmission(msgspec.Struct, forbid_unknown_fields=True):
    """What somebody gets who lost a password or an authenticator."""

    password: Annotated[str, Meta(max_length=1_000, description="The new password.")]
    keep_authenticator: Annotated[
        bool, Meta(description="Keep the authenticator and the passkeys.")
    ] = False


class SessionItem(msgspec.Struct):
    """A signed-in browser."""

    seen: Annotated[str, Meta(description="When it was last used.")]
    address: Annotated[str, Meta(description="The IP address.")]
    browser: Annotated[str, Meta(description="The browser, as it names itself.")]
    created: Created
    expires: Annotated[str, Meta(description="When the session ends.")]


class SessionsAnswer(msgspec.Struct):
    """A person's sessions."""

    sessions: Annotated[
        list[SessionItem], Meta(description="The most recently used first.")
    ]


class NewCoupons(msgspec.Struct, forbid_unknown_fields=True):
    """Coupons to create."""

    amount: Annotated[Sat, Meta(description="Satoshis each.")]
    count: Annotated[int, Meta(ge=1, le=1_000, description="How many.")] = 1
    organization_id: Annotated[
        str, Meta(max_length=100, description="Who can redeem them; empty: anyone.")
    ] = ""
    days: Days = 0
    note: Annotated[Note, Meta(description="Only operators see it.")] = ""


class CouponItem(msgspec.Struct):
    """A coupon."""

    coupon: Annotated[str, Meta(description="The code, with which it is redeemed.")]
    amount: Annotated[int, Meta(description="Its value, in satoshis.")]
    organization_id: Annotated[
        OrNone, Meta(description="Who can redeem it; null: anyone.")
    ]
    created: Created
    expires: Annotated[OrNone, Meta(description="When it expires; null: never.")]
    note: Annotated[str, Meta(description="What it is for.")]
    claimed: Annotated[OrNone, Meta(description="When it was redeemed, or null.")]
    claimed_by: Annotated[
        OrNone, Meta(description="The organization that redeemed it, or null.")
    ]


class IssuedCoupons(msgspec.Struct):
    """New coupons."""

    coupons: Annotated[list[CouponItem], Meta(description="The coupons.")]


class PageQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Pagination."""

    limit: Limit = 100
    cursor: Cursor = ""


class AllCouponsAnswer(msgspec.Struct):
    """A page of all coupons."""

    coupons: Annotated[list[CouponItem], Meta(description="Ordered by their codes.")]
    next_cursor: NextCursor


class SoldOrder(msgspec.Struct):
    """An order, without what belongs to its buyer: tickets and invoices."""

    order_id: OrderId
    organization_id: OrganizationId
    status: Annotated[str, Meta(description="The order's status.")]
    kind: Annotated[str, Meta(description="`ticket` or `direct`.")]
    created: Created
    paid: Annotated[OrNone, Meta(description="When it was fully paid, or null.")]
    capacity: Annotated[int, Meta(description="Capacity, in satoshis.")]
    fee: Annotated[int, Meta(description="The price, in satoshis.")]
    credit_used: Annotated[int, Meta(description="What credit paid, in satoshis.")]
    charged: Annotated[
        int, Meta(description="What the corporate account owes for it, in satoshis.")
    ]


class SoldOrdersAnswer(msgspec.Struct):
    """A page of an organization's orders."""

    orders: Annotated[list[SoldOrder], Meta(description="The newest first.")]
    next_cursor: NextCursor


class OrderAttention(SoldOrder):
    """An order that needs attention."""

    why: Annotated[str, Meta(description="Why, and what to do.")]


class OrderAttentionAnswer(msgspec.Struct):
    """The orders that need attention."""

    orders: Annotated[list[OrderAttention], Meta(description="The orders.")]


class Abandonment(msgspec.Struct, forbid_unknown_fields=True):
    """Why an order is abandoned."""

    reason: Annotated[Note, Meta(description="Recorded in the audit log.")]


class FleetQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which nodes to list."""

    organization_id: Annotated[
        str, Meta(max_length=100, description="Only this organization's.")
    ] = ""
    status: Annotated[
        str, Meta(max_length=40, description="Only those with this status.")
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=10_000, description="The most to return.")] = (
        1_000
    )


class FleetNode(msgspec.Struct):
    """A node of any organization, without its settings, which are its owner's."""

    node_id: NodeId
    node_name: Annotated[str, Meta(description="The node's name.")]
    organization_id: OrganizationId
    status: Annotated[str, Meta(description="The node's status.")]
    lnd_version: Annotated[str, Meta(description="The version of lnd.")]
    runtime: Annotated[str, Meta(description="`local` or `kubernetes`.")]
    created: Created


class FleetAnswer(msgspec.Struct):
    """Nodes of all organizations."""

    nodes: Annotated[list[FleetNode], Meta(description="The newest first.")]
    has_more: Annotated[bool, Meta(description="Whether `limit` left some out.")]


class AilingNode(msgspec.Struct):
    """A node that needs attention."""

    node_id: NodeId
    node_name: Annotated[str, Meta(description="The node's name.")]
    organization_id: OrganizationId
    status: Annotated[str, Meta(description="The node's status.")]
    lnd_version: Annotated[str, Meta(description="The version of lnd.")]
    crashes: Annotated[int, Meta(description="How often in a row lnd has ended.")]
    why: Annotated[str, Meta(description="What is known about why.")]


class AilingAnswer(msgspec.Struct):
    """The nodes that need attention."""

    nodes: Annotated[list[AilingNode], Meta(description="The worst first.")]


class InstallationAnswer(msgspec.Struct):
    """The installation in numbers."""

    nodes: Annotated[dict[str, int], Meta(description="Nodes by status.")]
    versions: Annotated[dict[str, int], Meta(description="Nodes by version of lnd.")]
    orders: Annotated[dict[str, int], Meta(description="Orders by status.")]
    books: Annotated[
        dict[str, int],
        Meta(description="Your own accounts in the ledger, in satoshis."),
    ]
    sources: Annotated[
        list[str], Meta(description="Where sold channels come from; empty: none are.")
    ]


class AlarmItem(msgspec.Struct):
    """A raised alarm."""

    alarm: Annotated[str, Meta(description="Its kind, like `disk.low`.")]
    subject: Annotated[str, Meta(description="What it is about; empty: all of it.")]
    what: Annotated[str, Meta(description="What is wrong, and what to do.")]
    since: Time


class AlarmsAnswer(msgspec.Struct):
    """The raised alarms."""

    alarms: Annotated[list[AlarmItem], Meta(description="By kind and age.")]
    checked: Annotated[OrNone, Meta(description="When they were checked last.")]
    not_checked: Annotated[
        str, Meta(description="Why they may be out of date; empty if they are not.")
    ]


class BackupItem(msgspec.Struct):
    """A kind of work on the installation's backups."""

    what: Annotated[str, Meta(description="What was done, such as `restore drill`.")]
    last_good: Annotated[OrNone, Meta(description="When it last succeeded.")]
    last_failed: Annotated[OrNone, Meta(description="When it last failed.")]
    took_s: Annotated[float | None, Meta(description="How long the success took.")]


class BackupsAnswer(msgspec.Struct):
    """The state of the installation's backups."""

    backups: Annotated[list[BackupItem], Meta(description="Empty if none are made.")]
    missing: Annotated[str, Meta(description="What to do if none are made, or empty.")]


class AuditQuery(msgspec.Struct, forbid_unknown_fields=True):
    """How much of the audit log to return."""

    limit: Limit = 50


class AuditLine(msgspec.Struct):
    """An entry of the audit log."""

    at: Time
    actor: Annotated[str, Meta(description="Who, such as `operator:key:ID`.")]
    action: Annotated[str, Meta(description="What was done.")]
    subject: Annotated[str, Meta(description="To what.")]
    organization_id: Annotated[OrNone, Meta(description="To whose, or null.")]


class AuditAnswer(msgspec.Struct):
    """The latest entries of the audit log."""

    audit: Annotated[list[AuditLine], Meta(description="The newest first.")]


class Removed(msgspec.Struct):
    """What was removed, revoked or ended."""

    id: Annotated[str, Meta(description="The id of what is gone.")]
