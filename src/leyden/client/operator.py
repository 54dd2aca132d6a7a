"""The operator API of one platform.

    from leyden.client.operator import Operator

    with Operator("https://api.example.org", key) as operator:
        for each in operator.organizations():
            print(each.name)

The key is an operator's: `leyden operator-keys create` makes one. What moves money
takes an Idempotency-Key as `key`; repeated under the same one, it moves nothing.
"""

import ssl
from collections.abc import Iterator, Sequence
from typing import Self

from leyden.client.calls import LONGEST_WAIT_S, Calls, word
from leyden.client.wire import Server, Wire
from leyden.schemas.operator import (
    AilingAnswer,
    AilingNode,
    AlarmsAnswer,
    AllCouponsAnswer,
    AuditAnswer,
    AuditLine,
    BackupsAnswer,
    CouponItem,
    FleetAnswer,
    FleetNode,
    InstallationAnswer,
    IssuedCoupons,
    KeyItem,
    KeysAnswer,
    MemberItem,
    MembersAnswer,
    NewestOrdersAnswer,
    NewInvitationAnswer,
    NewKeyAnswer,
    OrderAttention,
    OrderAttentionAnswer,
    OrganizationAnswer,
    OrganizationItem,
    OrganizationsAnswer,
    QuotaLimits,
    QuotaLimitsAnswer,
    Removed,
    SessionItem,
    SessionsAnswer,
    SoldOrder,
    SoldOrdersAnswer,
    UserItem,
    UsersAnswer,
)


class Operator:
    """A client of one platform's operator API."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        authority: str = "",
        connect: str = "",
        timeout_s: float = 60,
        longest_wait_s: float = LONGEST_WAIT_S,
    ) -> None:
        """Create a client; the arguments are those of `Client`."""
        tls = None
        if authority:
            tls = ssl.create_default_context()
            tls.load_verify_locations(cadata=authority)
        server = Server.at(url, tls=tls, connect=connect)
        self._wire = Wire(server, timeout_s=timeout_s)
        self._calls = Calls(
            url=url.rstrip("/"),
            wire=self._wire,
            key=key,
            longest_wait_s=longest_wait_s,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call reconnects."""
        self._wire.close()

    def overview(self) -> InstallationAnswer:
        """Return the installation in numbers."""
        return self._calls.get("/operator/overview", InstallationAnswer)

    def alarms(self) -> AlarmsAnswer:
        """Return the raised alarms, and when they were checked."""
        return self._calls.get("/operator/alarms", AlarmsAnswer)

    def backups(self) -> BackupsAnswer:
        """Return when the installation's backups last succeeded and failed."""
        return self._calls.get("/operator/backups", BackupsAnswer)

    def audit(self, *, limit: int = 50) -> list[AuditLine]:
        """Return the latest entries of the audit log, newest first."""
        return self._calls.get("/operator/audit", AuditAnswer, limit=limit).audit

    def organizations(self) -> list[OrganizationItem]:
        """Return all organizations, oldest first."""
        return self._calls.get(_of(), OrganizationsAnswer).organizations

    def create_organization(
        self, name: str, *, key: str | None = None
    ) -> OrganizationItem:
        """Create an organization."""
        return self._calls.post_once(_of(), OrganizationItem, {"name": name}, key)

    def organization(self, organization_id: str) -> OrganizationAnswer:
        """Return an organization with its money."""
        return self._calls.get(_of(organization_id), OrganizationAnswer)

    def set_limit(
        self, organization_id: str, most_owed: int | None
    ) -> OrganizationAnswer:
        """Open a corporate account with a limit in satoshis; None closes it."""
        path = _of(organization_id, "account")
        return self._calls.post(path, OrganizationAnswer, {"most_owed": most_owed})

    def correct(
        self,
        organization_id: str,
        kind: str,
        amount: int,
        reason: str,
        *,
        key: str | None = None,
    ) -> OrganizationAnswer:
        """Adjust a balance; `kind` is credit, debit, refund or settled."""
        body = {"kind": kind, "amount": amount, "reason": reason}
        path = _of(organization_id, "corrections")
        return self._calls.post_once(path, OrganizationAnswer, body, key)

    def orders_of(
        self, organization_id: str, *, at_a_time: int = 100
    ) -> Iterator[SoldOrder]:
        """Yield an organization's orders, newest first."""
        cursor: str | None = None
        while True:
            page = self._calls.get(
                _of(organization_id, "orders"),
                SoldOrdersAnswer,
                limit=at_a_time,
                cursor=cursor,
            )
            yield from page.orders
            if not (cursor := page.next_cursor):
                return

    def quotas(self, organization_id: str) -> dict[str, QuotaLimits]:
        """Return an organization's quotas, by name."""
        path = _of(organization_id, "quotas")
        return self._calls.get(path, QuotaLimitsAnswer).quotas

    def change_quotas(
        self, organization_id: str, **limits: int | None
    ) -> dict[str, QuotaLimits]:
        """Change limits by the quotas' names; None resets one."""
        path = _of(organization_id, "quotas")
        return self._calls.post(path, QuotaLimitsAnswer, {"quotas": limits}).quotas

    def members(self, organization_id: str) -> MembersAnswer:
        """Return an organization's members and open invitations."""
        return self._calls.get(_of(organization_id, "members"), MembersAnswer)

    def create_member(
        self, organization_id: str, email: str, password: str, *, role: str = "owner"
    ) -> MemberItem:
        """Create a person who belongs to an organization."""
        body = {"email": email, "password": password, "role": role}
        return self._calls.post(_of(organization_id, "members"), MemberItem, body)

    def set_role(self, organization_id: str, user_id: str, role: str) -> MembersAnswer:
        """Change a member's role."""
        path = _of(organization_id, "members", user_id)
        return self._calls.post(path, MembersAnswer, {"role": role})

    def remove_member(self, organization_id: str, user_id: str) -> None:
        """Remove a member from an organization."""
        self._calls.delete(_of(organization_id, "members", user_id), Removed)

    def invite(
        self, organization_id: str, email: str, *, role: str = "developer"
    ) -> NewInvitationAnswer:
        """Invite somebody; the link is in this answer alone."""
        body = {"email": email, "role": role}
        path = _of(organization_id, "invitations")
        return self._calls.post(path, NewInvitationAnswer, body)

    def revoke_invitation(self, organization_id: str, invitation_id: str) -> None:
        """Revoke an invitation."""
        self._calls.delete(_of(organization_id, "invitations", invitation_id), Removed)

    def keys(self, organization_id: str) -> list[KeyItem]:
        """Return an organization's API keys, oldest first."""
        return self._calls.get(_of(organization_id, "keys"), KeysAnswer).keys

    def create_key(
        self,
        organization_id: str,
        name: str,
        scopes: Sequence[str] = ("node", "flow"),
        *,
        days: int = 0,
    ) -> NewKeyAnswer:
        """Create an API key; it is in this answer alone."""
        body = {"name": name, "scopes": list(scopes), "days": days}
        return self._calls.post(_of(organization_id, "keys"), NewKeyAnswer, body)

    def revoke_key(self, organization_id: str, key_id: str) -> None:
        """Revoke an API key, at once."""
        self._calls.delete(_of(organization_id, "keys", key_id), Removed)

    def users(self) -> list[UserItem]:
        """Return everybody who can sign in, oldest first."""
        return self._calls.get("/operator/users", UsersAnswer).users

    def sessions(self, user_id: str) -> list[SessionItem]:
        """Return a person's sessions."""
        return self._calls.get(_user(user_id, "sessions"), SessionsAnswer).sessions

    def sign_out(self, user_id: str) -> None:
        """Sign a person out everywhere."""
        self._calls.post(_user(user_id, "sign-out"), SessionsAnswer)

    def readmit(
        self, user_id: str, password: str, *, keep_authenticator: bool = False
    ) -> None:
        """Reset a person's password and authenticator."""
        body = {"password": password, "keep_authenticator": keep_authenticator}
        self._calls.post(_user(user_id, "readmit"), SessionsAnswer, body)

    def coupons(self, *, at_a_time: int = 100) -> Iterator[CouponItem]:
        """Yield all coupons, ordered by their codes."""
        cursor: str | None = None
        while True:
            page = self._calls.get(
                "/operator/coupons", AllCouponsAnswer, limit=at_a_time, cursor=cursor
            )
            yield from page.coupons
            if not (cursor := page.next_cursor):
                return

    def create_coupons(
        self, amount: int, *, key: str | None = None, **wish: int | str
    ) -> list[CouponItem]:
        """Create coupons; `wish`: count, organization_id, days, note."""
        body = {"amount": amount, **wish}
        path = "/operator/coupons"
        return self._calls.post_once(path, IssuedCoupons, body, key).coupons

    def orders(self, *, limit: int = 100) -> list[SoldOrder]:
        """Return the newest orders of all organizations, newest first."""
        path = "/operator/orders"
        return self._calls.get(path, NewestOrdersAnswer, limit=limit).orders

    def orders_needing_attention(self) -> list[OrderAttention]:
        """Return the orders that need attention, with the reason."""
        path = "/operator/orders/attention"
        return self._calls.get(path, OrderAttentionAnswer).orders

    def order(self, order_id: str) -> SoldOrder:
        """Return an order."""
        return self._calls.get(f"/operator/orders/{word(order_id)}", SoldOrder)

    def abandon(self, order_id: str, reason: str) -> SoldOrder:
        """Abandon an order whose ticket or purchase is lost."""
        path = f"/operator/orders/{word(order_id)}/abandon"
        return self._calls.post(path, SoldOrder, {"reason": reason})

    def nodes(
        self,
        *,
        organization_id: str | None = None,
        status: str | None = None,
        limit: int = 10_000,
    ) -> list[FleetNode]:
        """Return nodes of all organizations, newest first, at most `limit`."""
        found = self._calls.get(
            "/operator/nodes",
            FleetAnswer,
            organization_id=organization_id,
            status=status,
            limit=limit,
        )
        return found.nodes

    def ailing(self) -> list[AilingNode]:
        """Return the nodes that need attention, the worst first."""
        return self._calls.get("/operator/nodes/attention", AilingAnswer).nodes

    def node(self, node_id: str) -> FleetNode:
        """Return a node."""
        return self._calls.get(f"/operator/nodes/{word(node_id)}", FleetNode)

    def start(self, node_id: str) -> FleetNode:
        """Start a node."""
        return self._calls.post(f"/operator/nodes/{word(node_id)}/start", FleetNode)

    def stop(self, node_id: str) -> FleetNode:
        """Stop a node."""
        return self._calls.post(f"/operator/nodes/{word(node_id)}/stop", FleetNode)


def _of(*words: str) -> str:
    return "/".join(("/operator/organizations", *map(word, words)))


def _user(user_id: str, action: str) -> str:
    return f"/operator/users/{word(user_id)}/{action}"
