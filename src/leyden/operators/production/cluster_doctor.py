"""Whether nodes are safe in the cluster of the settings: `leyden doctor --cluster`."""

from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Final

from leyden.base.settings import Settings
from leyden.errors import ClusterRefused, LeydenError, SetupError
from leyden.nodes.runtimes.kubernetes import resource_metrics, trials
from leyden.nodes.runtimes.kubernetes.api import KubernetesApi
from leyden.nodes.runtimes.kubernetes.kinds import Service
from leyden.nodes.wiring import clusters, pods
from leyden.operators.production import Result

_HIDDEN: Final = (
    "whitelists would see machines' addresses, not callers': set "
    "externalTrafficPolicy: Local on the gateways' service: %s"
)

_MEASURED: Final = "memory and processor of nodes are known"
_OWN_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_OF_GATEWAYS: Final = ("app.kubernetes.io/component", "gateway")
_FROM_OUTSIDE: Final = frozenset({"NodePort", "LoadBalancer"})


async def examine(settings: Settings) -> AsyncIterator[Result]:
    """Check the cluster, and try from a pod what nodes reach."""
    what = "the cluster can run nodes, and we have the permissions for it"
    try:
        if not settings.runs_in_cluster:
            raise SetupError(
                'runtime: nodes run on this machine; set runtime = "kubernetes"'
            )
        clusters.check(settings)
        async with pods.connected(settings) as api:
            yield Result(what=what, to_do="")
            if namespace := own_namespace():
                to_do = await _gateways(api, namespace)
                yield Result(what="gateways see their callers' addresses", to_do=to_do)
            _, to_do = await resource_metrics.fetch(api)
            yield Result(what=_MEASURED, to_do=to_do, is_optional=True)
            what = "a pod in the nodes' namespace runs"
            scheduling = clusters.scheduling(settings)
            async for tried, to_do in trials.examine(settings, api, scheduling):
                yield Result(what=tried, to_do=to_do)
    except LeydenError as error:
        yield Result(what=what, to_do=str(error))


async def _gateways(api: KubernetesApi, namespace: str) -> str:
    try:
        found = await hiding_services(api, namespace)
    except ClusterRefused as error:
        return f"{error}; the chart has a role for that, NAME-doctor"
    return _HIDDEN % ", ".join(found) if found else ""


def own_namespace(file: Path = _OWN_NAMESPACE) -> str:
    """Return the namespace of the pod that this process runs in; "" outside a pod."""
    return file.read_text().strip() if file.exists() else ""


async def hiding_services(api: KubernetesApi, namespace: str) -> list[str]:
    """List the gateways' services in a namespace that hide callers' addresses.

    One that forwards from any machine replaces the caller's address with that
    machine's: then a whitelist matches nobody, or everybody.
    """
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
