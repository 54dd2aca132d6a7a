"""The typed Python client library for Leyden's API.

    from leyden.client import ApiError, Client

    with Client("https://api.example.org", key) as leyden:
        for node in leyden.nodes.list():
            print(node.node_name, node.status)

Calls block until the response arrives (docs/decisions has the reasons), and
errors are raised as `ApiError` with a status, a code and a message. Use a
client in one thread at a time.
"""

import socket
import ssl
from typing import Self
from urllib.parse import urlsplit

from leyden.client.backups import Backups
from leyden.client.calls import LONGEST_WAIT_S, ApiError, Calls
from leyden.client.events import Events
from leyden.client.flow import Flow
from leyden.client.lnd import Lnd
from leyden.client.nodes import Nodes
from leyden.client.subscriptions import Subscriptions
from leyden.client.webhooks import Webhooks
from leyden.client.wire import Server, Wire
from leyden.client.wrapped_invoices import WrappedInvoices
from leyden.schemas.accounts import KeyAnswer as Key
from leyden.schemas.accounts import QuotasAnswer, QuotaUsage
from leyden.schemas.platform import PlatformAnswer

__all__ = ["ApiError", "Client", "Key", "Lnd", "QuotaUsage"]


class Client:
    """A client of one platform's API for one organization."""

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
        """Create a client; the API is asked for a missing `organization`.

        `authority` is PEM of a CA to trust for the URL, besides the
        system's. `connect` is HOST:PORT of the API and `gateway` that of
        the nodes, if their names do not resolve to them. The client does
        not wait for a Retry-After longer than `longest_wait_s`.
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
        self.events = Events(self._calls)
        self.subscriptions = Subscriptions(self._calls)
        self.wrapped_invoices = WrappedInvoices(self._calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call reconnects."""
        self._wire.close()

    def key(self) -> Key:
        """Return the API key's details."""
        return self._calls.get("/key", Key)

    def platform(self) -> PlatformAnswer:
        """Return what the platform offers."""
        return self._calls.get("/platform", PlatformAnswer)

    def organization(self) -> str:
        """Return the organization's id."""
        if not self._organization_id:
            self._organization_id = self.key().organization_id
        return self._organization_id

    def quotas(self) -> dict[str, QuotaUsage]:
        """Return the organization's quotas with their usage, by name."""
        path = f"/organizations/{self.organization()}/quotas"
        return self._calls.get(path, QuotasAnswer).quotas

    def lnd(self, node_id: str, *, macaroon: str = "", trusts: str = "") -> Lnd:
        """Return a client for a node's own REST API.

        `trusts` is PEM of the CA to trust, by default the chain of GET
        cert. If the node's name does not resolve on this machine, the
        client connects to the gateway address that the platform returns.
        """
        way = self.nodes.connect(node_id)
        return Lnd(
            way.rest_url,
            trusts=trusts or self.nodes.certificate(node_id),
            connect=self._gateway or _where(way.api_endpoint, way.hosts_line),
            macaroon=macaroon,
        )

    def rest_address(self, node_id: str) -> tuple[str, int]:
        """Return the host and port at which this machine reaches a node's REST API.

        The node shows the certificate of its `api_endpoint`.
        """
        way = self.nodes.connect(node_id)
        host, port = self.grpc_address(node_id)[0], urlsplit(way.rest_url).port
        if self._gateway and ":" in self._gateway:
            port = int(self._gateway.rpartition(":")[2])
        return host, port or 443

    def grpc_address(self, node_id: str) -> tuple[str, int]:
        """Return the host and port at which this machine reaches a node's gRPC.

        The node shows the certificate of its `api_endpoint`.
        """
        way = self.nodes.connect(node_id)
        name, _, port = way.grpc_address.rpartition(":")
        host = self._gateway.rpartition(":")[0] or _where(name, way.hosts_line)
        return (host or name).strip("[]"), int(port)


def _where(name: str, hosts_line: str) -> str:
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return hosts_line.partition(" ")[0]
    return ""
