"""The Python library for customers: Leyden's API, typed.

    from leyden.client import ApiError, Client

    with Client("https://api.example.org", key) as leyden:
        for node in leyden.nodes.list_():
            print(node.node_name, node.status)

Calls block until they are answered (docs/decisions tells why), and refusals are
`ApiError`s with a status and a message. A client is for one thread at a time.
"""

import socket
import ssl
from typing import Self

import msgspec

from leyden.client.backups import Backups
from leyden.client.calls import LONGEST_WAIT_S, ApiError, Calls
from leyden.client.flow import Flow
from leyden.client.lnd import Lnd
from leyden.client.nodes import Nodes
from leyden.client.webhooks import Webhooks
from leyden.client.wire import Server, Wire

__all__ = ["ApiError", "Client", "Key", "Lnd", "QuotaUsage"]


class Key(msgspec.Struct, kw_only=True):
    """Whose key it is, and what it may touch."""

    organization_id: str
    organization_name: str
    key_name: str
    scopes: list[str]
    expires: str


class QuotaUsage(msgspec.Struct, kw_only=True):
    """How much of something an organization has, and may have."""

    used: int
    limit: int


class _Quotas(msgspec.Struct, kw_only=True):
    quotas: dict[str, QuotaUsage]


class Client:
    """One platform, called in one organization's name."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        organization: str = "",
        authority: str = "",
        connect: str = "",
        gateway: str = "",
        timeout_s: float = 60,
        longest_wait_s: float = LONGEST_WAIT_S,
    ) -> None:
        """`organization` is asked for where it is not given.

        `authority` is PEM of whom to trust for the URL, beside the usual ones;
        `connect` is HOST:PORT of where the API is, `gateway` of where the nodes are,
        if their names do not lead there. A Retry-After longer than `longest_wait_s` is
        not waited for.
        """
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
        self._gateway = gateway
        self._organization_id = organization
        self.nodes = Nodes(self._calls, self.organization)
        self.backups = Backups(self._calls, self.organization)
        self.webhooks = Webhooks(self._calls, self.organization)
        self.flow = Flow(self._calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; the next call connects again."""
        self._wire.close()

    def key(self) -> Key:
        """Tell whose key this is."""
        return self._calls.get("/key", Key)

    def organization(self) -> str:
        """Give the id of the organization."""
        if not self._organization_id:
            self._organization_id = self.key().organization_id
        return self._organization_id

    def quotas(self) -> dict[str, QuotaUsage]:
        """Return what the organization may have, by name, and how much it has."""
        path = f"/organizations/{self.organization()}/quotas"
        return self._calls.get(path, _Quotas).quotas

    def lnd(self, node_id: str, *, macaroon: str = "", trusts: str = "") -> Lnd:
        """Reach a node itself, at its own REST; `trusts` is PEM, else GET cert's.

        Where the node's name leads nowhere on this machine, it is looked for where the
        platform says that the gateway is.
        """
        way = self.nodes.connect(node_id)
        return Lnd(
            way.rest_url,
            trusts=trusts or self.nodes.certificate(node_id),
            connect=self._gateway or _where(way.api_endpoint, way.hosts_line),
            macaroon=macaroon,
        )


def _where(name: str, hosts_line: str) -> str:
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return hosts_line.partition(" ")[0]
    return ""
