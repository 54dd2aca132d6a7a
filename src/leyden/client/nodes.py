"""Nodes: making them, looking at them, telling them what to do."""

import base64
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

import msgspec

from leyden.client.calls import ApiError, Calls, word
from leyden.client.node_items import (
    Connection,
    CreatedNode,
    Metrics,
    Node,
    NodeItem,
    UpdatedNode,
    Versions,
)
from leyden.client.waiting import until

_LOOK_EVERY_S: Final = 0.5


class _Listed(msgspec.Struct):
    nodes: list[NodeItem]


class _Whitelist(msgspec.Struct):
    whitelist: list[str]


class _Certificate(msgspec.Struct):
    tls_cert: str


class _Log(msgspec.Struct):
    lines: list[str]


class Nodes:
    """An organization's nodes."""

    def __init__(self, calls: Calls, organization: Callable[[], str]) -> None:
        self._calls = calls
        self._organization = organization

    def list_(self) -> list[NodeItem]:
        """List all nodes, oldest first."""
        return self._calls.get(self._path(), _Listed).nodes

    def find(self, name_or_id: str) -> NodeItem:
        """Give the node of this name, or with this id; ApiError 404 for neither."""
        for node in self.list_():
            if name_or_id in {node.node_id, node.node_name}:
                return node
        raise ApiError("there is no node of this name or id", status=404)

    def get(self, node_id: str) -> Node:
        """Give a node with its settings."""
        return self._calls.get(self._path(node_id), Node)

    def create(
        self,
        name: str,
        *,
        settings: Mapping[str, object],
        network: str = "testnet",
        type: str = "standard",  # noqa: A002  the contract's word
        version: str | None = None,
        key: str | None = None,
    ) -> CreatedNode:
        """Make a node; `key` is an Idempotency-Key of your own.

        It can be reached, and waits for its wallet, once its status is `waiting_init`.
        """
        body: dict[str, object] = {
            "name": name,
            "network": network,
            "type": type,
            "settings": dict(settings),
        }
        if version is not None:
            body["version"] = version
        return self._calls.post_once(self._path(), CreatedNode, body, key)

    def wait(
        self,
        node_id: str,
        statuses: Collection[str],
        *,
        within_s: float = 300,
        told: Callable[[Node], object] = lambda _: None,
    ) -> Node:
        """Look until the node has one of these statuses; TimeoutError after a while.

        `told` is called with what is seen, each time.
        """
        return until(
            "the node",
            lambda: self.get(node_id),
            statuses,
            every_s=_LOOK_EVERY_S,
            within_s=within_s,
            told=told,
        )

    def start(self, node_id: str) -> NodeItem:
        """Start a node that is stopped or failed."""
        return self._calls.post(self._path(node_id, "start"), NodeItem)

    def stop(self, node_id: str) -> NodeItem:
        """Stop a node gracefully."""
        return self._calls.post(self._path(node_id, "stop"), NodeItem)

    def restart(self, node_id: str) -> NodeItem:
        """Stop a node and start it again; its wallet is locked then."""
        return self._calls.post(self._path(node_id, "restart"), NodeItem)

    def delete(self, node_id: str) -> NodeItem:
        """Delete a node."""
        return self._calls.delete(self._path(node_id), NodeItem)

    def update(self, node_id: str, version: str | None = None) -> UpdatedNode:
        """Bring a node to a newer lnd; there is no way back."""
        body = {} if version is None else {"version": version}
        return self._calls.post(self._path(node_id, "update"), UpdatedNode, body)

    def change_settings(self, node_id: str, **settings: object) -> Node:
        """Change some settings, and leave the others."""
        return self._calls.post(self._path(node_id, "settings"), Node, settings)

    def replace_whitelist(self, node_id: str, whitelist: Sequence[str]) -> list[str]:
        """Say who may reach the node; give the list in canonical form."""
        body = {"whitelist": list(whitelist)}
        path = self._path(node_id, "whitelist")
        return self._calls.post(path, _Whitelist, body).whitelist

    def certificate(self, node_id: str) -> str:
        """Give what a client needs to trust the node: a PEM chain up to the root."""
        return _pem(self._calls.get(self._path(node_id, "cert"), _Certificate))

    def renew_certificate(self, node_id: str) -> str:
        """Give the node a new certificate and restart it; give the new chain."""
        return _pem(self._calls.post(self._path(node_id, "tls"), _Certificate))

    def connect(self, node_id: str) -> Connection:
        """Give the way to a node."""
        return self._calls.get(self._path(node_id, "connect"), Connection)

    def log(self, node_id: str, lines: int = 100) -> list[str]:
        """Give the last lines of lnd's log, oldest first."""
        return self._calls.get(self._path(node_id, "logs"), _Log, lines=lines).lines

    def metrics(self, node_id: str) -> Metrics:
        """Give what a node takes."""
        return self._calls.get(self._path(node_id, "metrics"), Metrics)

    def versions(self) -> Versions:
        """Give the versions of lnd on offer."""
        return self._calls.get("/versions", Versions)

    def _path(self, *words: str) -> str:
        parts = ("organizations", self._organization(), "nodes", *words)
        return "".join(f"/{word(each)}" for each in parts)


def _pem(answer: _Certificate) -> str:
    return base64.b64decode(answer.tls_cert).decode()
