"""Trials of what nodes in a cluster can reach, from a pod like theirs."""

from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from leyden.base.rules.addresses import is_public
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.runtimes.kubernetes import trials
from leyden.nodes.runtimes.kubernetes.api import Api

_METADATA: Final = "169.254.169.254:80"  # of most clouds
_HTTPS: Final = 443
_POSTGRES: Final = 5432
_NOT_HELD: Final = (
    "nodes reach it: apply the NetworkPolicies of deploy/chart, or those of "
    "deploy/kubernetes/nodes-policy.yaml if the platform runs beside the cluster; they "
    "need a component that enforces them (Calico, Cilium, kube-router)"
)


async def examine(settings: Settings, api: Api) -> AsyncIterator[tuple[str, str]]:
    """Yield what was tried, and what to do about it; "" if it is as it should be."""
    if not settings.companion_image:
        raise SetupError("companion_image: must be set: its program runs the test")
    companions = _address(settings.companion_url, _HTTPS)
    closed = {
        "the API server": _address(api.server, _HTTPS),
        "the cloud's metadata": _METADATA,
    }
    if settings.database.startswith("postgresql"):
        closed["the database"] = _address(settings.database, _POSTGRES)
    # A public address is open to nodes, as all others are; keep it closed elsewhere.
    closed = {what: where for what, where in closed.items() if not _is_public(where)}
    found = await trials.connections(
        api, settings.companion_image, (companions, *closed.values())
    )
    yield (
        f"companions reach the platform, at {companions}",
        ""
        if found[companions]
        else (
            "nothing responds there: check that an API server is running, and that "
            "companion_url is the address of its companion_port"
        ),
    )
    for what, where in closed.items():
        yield (
            f"nodes can't reach {what}, at {where}",
            _NOT_HELD if found[where] else "",
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
