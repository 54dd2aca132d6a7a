"""Whether nodes are safe in the cluster of the settings: `leyden doctor --cluster`."""

from collections.abc import AsyncIterator
from typing import Final

from leyden.base.settings import Settings
from leyden.errors import ClusterRefused, LeydenError, SetupError
from leyden.nodes.runtimes.kubernetes import callers, resource_metrics
from leyden.nodes.runtimes.kubernetes.api import Api
from leyden.nodes.wiring import clusters, egress_trial, pods
from leyden.operators.production import Result

_HIDDEN: Final = (
    "whitelists would see machines' addresses, not callers': set "
    "externalTrafficPolicy: Local on the gateways' service: %s"
)

_MEASURED: Final = "memory and processor of nodes are known"


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
            if namespace := callers.own_namespace():
                to_do = await _gateways(api, namespace)
                yield Result(what="gateways see their callers' addresses", to_do=to_do)
            _, to_do = await resource_metrics.fetch(api)
            yield Result(what=_MEASURED, to_do=to_do, is_optional=True)
            what = "a pod in the nodes' namespace runs"
            async for tried, to_do in egress_trial.examine(settings, api):
                yield Result(what=tried, to_do=to_do)
    except LeydenError as error:
        yield Result(what=what, to_do=str(error))


async def _gateways(api: Api, namespace: str) -> str:
    try:
        found = await callers.hidden(api, namespace)
    except ClusterRefused as error:
        return f"{error}; the chart has a role for that, NAME-doctor"
    return _HIDDEN % ", ".join(found) if found else ""
