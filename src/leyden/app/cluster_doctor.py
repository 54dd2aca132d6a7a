"""Whether nodes are safe in the cluster of the settings: `leyden doctor --cluster`."""

from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from leyden.app import clusters, pods
from leyden.app.production import Result
from leyden.domain.addresses import is_public
from leyden.errors import ClusterRefused, LeydenError, SetupError
from leyden.runtimes.kubernetes import callers, trials
from leyden.runtimes.kubernetes.api import Api
from leyden.settings import Settings

_METADATA: Final = "169.254.169.254:80"  # of most clouds
_HTTPS: Final = 443
_POSTGRES: Final = 5432
_HIDDEN: Final = (
    "whitelists would be about machines: set externalTrafficPolicy: Local on the "
    "service of gateways: %s"
)
_NOT_HELD: Final = (
    "nodes reach it: apply the NetworkPolicies of deploy/chart, in a cluster with a "
    "component that enforces them (Calico, Cilium, kube-router)"
)


async def examine(given: Settings) -> AsyncIterator[Result]:
    """Check the cluster, and try from a pod what nodes reach."""
    what = "the cluster can run nodes, and we may do what that takes"
    try:
        if given.runtime == "local":
            raise SetupError('runtime: nodes run here; set runtime = "kubernetes"')
        clusters.check(given)
        async with pods.connected(given) as api:
            yield Result(what=what, to_do="")
            if namespace := callers.own_namespace():
                to_do = await _gateways(api, namespace)
                yield Result(what="gateways see who calls them", to_do=to_do)
            what = "a pod in the nodes' namespace runs"
            async for each in _tried(given, api):
                yield each
    except LeydenError as error:
        yield Result(what=what, to_do=str(error))


async def _gateways(api: Api, namespace: str) -> str:
    try:
        found = await callers.hidden(api, namespace)
    except ClusterRefused as error:
        return f"{error}; the chart has a role for that, NAME-doctor"
    return _HIDDEN % ", ".join(found) if found else ""


async def _tried(given: Settings, api: Api) -> AsyncIterator[Result]:
    if not given.companion_image:
        raise SetupError("companion_image: must be set, its program is what tries")
    companions = _address(given.companion_url, _HTTPS)
    closed = {
        "the API server": _address(api.server, _HTTPS),
        "the cloud's metadata": _METADATA,
    }
    if given.database.startswith("postgresql"):
        closed["the database"] = _address(given.database, _POSTGRES)
    # A public address is open to nodes, as all others are; keep it closed elsewhere.
    closed = {what: where for what, where in closed.items() if not _is_public(where)}
    found = await trials.connections(
        api, given.companion_image, (companions, *closed.values())
    )
    yield Result(
        what=f"companions reach the platform, at {companions}",
        to_do=""
        if found[companions]
        else "nobody answers them there: is an API server running, and companion_url "
        "the address of its companion_port?",
    )
    for what, where in closed.items():
        yield Result(
            what=f"nodes do not reach {what}, at {where}",
            to_do=_NOT_HELD if found[where] else "",
        )


def _address(url: str, port: int) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port or port}"


def _is_public(address: str) -> bool:
    try:
        return is_public(ip_address(urlsplit(f"//{address}").hostname or ""))
    except ValueError:
        return False  # a name: within the cluster, most likely
