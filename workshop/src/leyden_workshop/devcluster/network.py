"""The links of a cluster: this host and each machine to the control plane's bridge.

Each link is a veth pair with at least one end in a network namespace of the cluster,
and is removed with that namespace. All steps can be repeated.
"""

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from leyden.errors import SetupError
from leyden_workshop.devcluster.addresses import MAX_MACHINES, Block
from leyden_workshop.devcluster.commands import attempt, call
from leyden_workshop.devcluster.control_plane import BRIDGE
from leyden_workshop.devcluster.namespaces import enter

_ROUTE: Final = ("ip", "route", "replace")
_LINKS: Final = Path("/sys/class/net")
# In the abstract namespace: it is released when its process ends, and leaves no file.
_CHOOSING: Final = "\0leyden-cluster-addresses"
_CHOSEN_WITHIN_S: Final = 60.0
_GONE_WITHIN_S: Final = 10.0
_BRIDGE_WITHIN_S: Final = 30.0
_POLL_S: Final = 0.05


def link_name(block: Block) -> str:
    """Return the name of this host's link to a cluster."""
    return f"leyden-{block.number}"


@contextlib.asynccontextmanager
async def choosing() -> AsyncIterator[None]:
    """Hold a lock of this host while choosing addresses, until the route exists."""
    deadline = asyncio.get_running_loop().time() + _CHOSEN_WITHIN_S
    with socket.socket(socket.AF_UNIX) as held:
        while True:
            try:
                held.bind(_CHOOSING)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            if asyncio.get_running_loop().time() > deadline:
                raise SetupError(
                    "another cluster is being created on this host, and does not "
                    "finish; stop it, and try again"
                )
            await asyncio.sleep(_POLL_S)
        yield


async def link_host(
    control_plane: int, block: Block, own: str, *, environment: Mapping[str, str]
) -> None:
    """Connect this host to the cluster, with routes to its pods and services.

    `own` is the link's hardware address. Services are reached through the first
    machine.
    """
    name = link_name(block)
    if not (_LINKS / name).exists():
        await call(
            *("ip", "link", "add", name, "address", own, "type", "veth"),
            *("peer", "name", "host", "netns", control_plane),
            environment=environment,
        )
    within = enter(control_plane)
    await _on_bridge(within, "host", environment)
    address = f"{block.host}/{block.machines.prefixlen}"
    for words in (
        ("ip", "link", "set", name, "addrgenmode", "none"),
        ("ip", "address", "replace", address, "dev", name),
        ("ip", "link", "set", name, "up"),
        (*_ROUTE, str(block.services), "via", str(block.machine(1))),
        *(
            (*_ROUTE, str(block.pods_of(n)), "via", str(block.machine(n)))
            for n in range(1, MAX_MACHINES + 1)
        ),
    ):
        await call(*words, environment=environment)


async def link_machine(
    control_plane: int,
    machine: int,
    number: int,
    block: Block,
    *,
    environment: Mapping[str, str],
) -> None:
    """Connect a machine, with routes to the pods of the others.

    A link to an earlier control plane is replaced.
    """
    within = enter(control_plane)
    outside = f"machine-{number}"
    code, _, _ = await attempt(
        *(*enter(machine), "ip", "link", "show", "eth0"), environment=environment
    )
    if code != 0:
        # The end of a link to an earlier network that still exists.
        await attempt(
            *(*within, "ip", "link", "delete", outside), environment=environment
        )
        await call(
            *(*within, "ip", "link", "add", outside, "type", "veth"),
            *("peer", "name", "eth0", "netns", machine),
            environment=environment,
        )
    await _on_bridge(within, outside, environment)
    # A route from pods to the API server.
    way = (str(block.pods_of(number)), "via", str(block.machine(number)))
    await call(*within, *_ROUTE, *way, environment=environment)
    address = f"{block.machine(number)}/{block.machines.prefixlen}"
    for words in (
        ("ip", "address", "replace", address, "dev", "eth0"),
        ("ip", "link", "set", "eth0", "up"),
        *(
            (*_ROUTE, str(block.pods_of(n)), "via", str(block.machine(n)))
            for n in range(1, MAX_MACHINES + 1)
            if n != number
        ),
        # The default route comes last: the machine waits for it. Packets to a service
        # need a route before kube-proxy redirects them.
        (*_ROUTE, "default", "via", str(block.control_plane)),
    ):
        await call(*enter(machine), *words, environment=environment)


async def unlink_host(own: str, *, environment: Mapping[str, str]) -> None:
    """Remove this host's link with a hardware address, and wait until it is gone.

    It would be removed with the control plane's network namespace, but abandoned
    connections can keep that for minutes.
    """
    for name in _links(own):
        await attempt("ip", "link", "delete", name, environment=environment)
    deadline = asyncio.get_running_loop().time() + _GONE_WITHIN_S
    while left := _links(own):
        if asyncio.get_running_loop().time() > deadline:
            raise SetupError(
                f"could not remove the link {left[0]}; try `ip link delete {left[0]}`"
            )
        await asyncio.sleep(_POLL_S)


def _links(own: str) -> list[str]:
    found = []
    for each in _LINKS.iterdir():
        with contextlib.suppress(OSError):  # it may be removed at this moment
            if (each / "address").read_text().strip() == own:
                found.append(each.name)
    return found


async def _on_bridge(
    within: list[str], name: str, environment: Mapping[str, str]
) -> None:
    """Connect a link to the bridge, once the control plane has created the bridge."""
    words = [*within, "ip", "link", "set", name, "master", BRIDGE, "up"]
    deadline = asyncio.get_running_loop().time() + _BRIDGE_WITHIN_S
    while (await attempt(*words, environment=environment))[0] != 0:
        if asyncio.get_running_loop().time() > deadline:
            await call(*words, environment=environment)  # to raise its error
        await asyncio.sleep(_POLL_S)
