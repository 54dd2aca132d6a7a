"""Check that gateways see their callers' addresses, which whitelists depend on.

A gateways' service that forwards from any machine replaces the caller's address with
that machine's: then a whitelist matches nobody, or everybody.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from leyden.nodes.runtimes.kubernetes.api import Api
from leyden.nodes.runtimes.kubernetes.kinds import Service

_OWN_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_OF_GATEWAYS: Final = ("app.kubernetes.io/component", "gateway")
_FROM_OUTSIDE: Final = frozenset({"NodePort", "LoadBalancer"})


def own_namespace(file: Path = _OWN_NAMESPACE) -> str:
    """Return the namespace of the pod that this process runs in; "" outside a pod."""
    return file.read_text().strip() if file.exists() else ""


async def hidden(api: Api, namespace: str) -> list[str]:
    """List the gateways' services in a namespace that hide callers' addresses."""
    path = f"/api/v1/namespaces/{namespace}/services"
    services, _ = await api.list_(path, Service)
    return hiding(services)


def hiding(services: Iterable[Service]) -> list[str]:
    """List the names of gateways' services that hide callers' addresses."""
    key, value = _OF_GATEWAYS
    return sorted(
        each.metadata.name
        for each in services
        if each.spec.selector.get(key) == value
        and each.spec.type in _FROM_OUTSIDE
        and each.spec.external_traffic_policy != "Local"
    )
