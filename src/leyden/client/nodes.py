"""Node calls: creating, viewing and controlling nodes."""

import base64
import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from leyden.client.calls import ApiError, Calls, word
from leyden.client.waiting import poll
from leyden.schemas.deleted_nodes import DeletedNode, DeletedNodesAnswer, Restore
from leyden.schemas.node_access import (
    CertificateAnswer,
    ConnectAnswer,
    NewWhitelist,
    WhitelistAnswer,
)
from leyden.schemas.nodes import (
    CreatedNode,
    LogAnswer,
    MetricsAnswer,
    NodeAnswer,
    NodeItem,
    NodesAnswer,
    Update,
    UpdatedNode,
    VersionsAnswer,
)

_LOOK_EVERY_S: Final = 0.5


class Nodes:
    """An organization's nodes."""

    def __init__(self, calls: Calls, organization: Callable[[], str]) -> None:
        self._calls = calls
        self._organization = organization

    def list(
        self,
        *,
        status: str | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> builtins.list[NodeItem]:
        """List all nodes that match, oldest first."""
        return self._calls.get(
            self._path(),
            NodesAnswer,
            status=status,
            name=name,
            created_after=created_after,
            created_before=created_before,
        ).nodes

    list_ = list  # noqa: A003  its former name

    def find(self, name_or_id: str) -> NodeItem:
        """Return the node with this name or id; raise ApiError 404 for neither."""
        for node in self.list():
            if name_or_id in {node.node_id, node.node_name}:
                return node
        raise ApiError("no node with this name or id", status=404)

    def get(self, node_id: str) -> NodeAnswer:
        """Return a node with its settings."""
        return self._calls.get(self._path(node_id), NodeAnswer)

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
        """Create a node; `key` is an Idempotency-Key of your own.

        The node is reachable and ready for its wallet once its status is
        `waiting_init`.
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
        on_state: Callable[[NodeAnswer], object] = lambda _: None,
    ) -> NodeAnswer:
        """Poll until the node has one of these statuses, and return it.

        Raise TimeoutError after `within_s`. `on_state` is called with the node
        after each poll.
        """
        return poll(
            "the node",
            lambda: self.get(node_id),
            statuses,
            every_s=_LOOK_EVERY_S,
            within_s=within_s,
            on_state=on_state,
        )

    def start(self, node_id: str) -> NodeItem:
        """Start a node that is stopped or failed."""
        return self._calls.post(self._path(node_id, "start"), NodeItem)

    def stop(self, node_id: str) -> NodeItem:
        """Stop a node gracefully."""
        return self._calls.post(self._path(node_id, "stop"), NodeItem)

    def restart(self, node_id: str) -> NodeItem:
        """Restart a node; you must unlock its wallet afterwards."""
        return self._calls.post(self._path(node_id, "restart"), NodeItem)

    def delete(self, node_id: str) -> NodeItem:
        """Delete a node."""
        return self._calls.delete(self._path(node_id), NodeItem)

    def deleted(self) -> builtins.list[DeletedNode]:
        """List deleted nodes that can be restored, latest first."""
        return self._calls.get(self._path("deleted"), DeletedNodesAnswer).nodes

    def restore(self, node_id: str, name: str | None = None) -> NodeItem:
        """Restore a deleted node, stopped; `name` is another name for it."""
        body = Restore() if name is None else Restore(name=name)
        return self._calls.post(self._path(node_id, "restore"), NodeItem, body)

    def update(self, node_id: str, version: str | None = None) -> UpdatedNode:
        """Update a node to a newer lnd; you can't undo this."""
        body = Update() if version is None else Update(version)
        return self._calls.post(self._path(node_id, "update"), UpdatedNode, body)

    def change_settings(self, node_id: str, **settings: object) -> NodeAnswer:
        """Change some settings; the others stay unchanged."""
        return self._calls.post(self._path(node_id, "settings"), NodeAnswer, settings)

    def replace_whitelist(
        self, node_id: str, whitelist: Sequence[str]
    ) -> builtins.list[str]:
        """Replace the allowed IP addresses; return them in canonical form."""
        body = NewWhitelist([*whitelist])
        path = self._path(node_id, "whitelist")
        return self._calls.post(path, WhitelistAnswer, body).whitelist

    def certificate(self, node_id: str) -> str:
        """Return the certificate to trust: a PEM chain up to the root."""
        return _pem(self._calls.get(self._path(node_id, "cert"), CertificateAnswer))

    def renew_certificate(self, node_id: str) -> str:
        """Renew the node's certificate and restart the node; return the chain."""
        return _pem(self._calls.post(self._path(node_id, "tls"), CertificateAnswer))

    def connect(self, node_id: str) -> ConnectAnswer:
        """Return the node's connection details."""
        return self._calls.get(self._path(node_id, "connect"), ConnectAnswer)

    def log(self, node_id: str, lines: int = 100) -> builtins.list[str]:
        """Return the last lines of lnd's log, oldest first."""
        return self._calls.get(
            self._path(node_id, "logs"), LogAnswer, lines=lines
        ).lines

    def metrics(self, node_id: str) -> MetricsAnswer:
        """Return the node's resource usage and traffic."""
        return self._calls.get(self._path(node_id, "metrics"), MetricsAnswer)

    def versions(self) -> VersionsAnswer:
        """Return the available lnd versions."""
        return self._calls.get("/versions", VersionsAnswer)

    def _path(self, *words: str) -> str:
        parts = ("organizations", self._organization(), "nodes", *words)
        return "".join(f"/{word(each)}" for each in parts)


def _pem(answer: CertificateAnswer) -> str:
    return base64.b64decode(answer.tls_cert).decode()
