"""Several runtimes as one: calls go to the runtime that has the node."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping

from leyden.nodes.lnd.tail import NewLines
from leyden.nodes.rules.log_positions import LogPosition
from leyden.nodes.rules.nodes import Node, RuntimeName
from leyden.nodes.rules.observations import Observation
from leyden.nodes.runtimes.base import (
    Checkpoint,
    HomeChanges,
    LaunchSpec,
    NodeFiles,
    OnObservation,
    Runtime,
    Usage,
)


class SeveralRuntimes:
    """All runtimes of an installation."""

    def __init__(self, runtimes: Mapping[RuntimeName, Runtime]) -> None:
        self._runtimes = runtimes

    def start(
        self, node: Node, launch_spec: LaunchSpec
    ) -> AsyncGenerator[Checkpoint, None]:
        """Start the node's lnd where its data is."""
        return self._runtimes[node.runtime].start(node, launch_spec)

    async def stop(self, node: Node) -> None:
        """Stop the node's lnd."""
        await self._runtimes[node.runtime].stop(node)

    async def remove(self, node: Node) -> None:
        """Delete everything stored for the node."""
        await self._runtimes[node.runtime].remove(node)

    async def observe(self, node: Node) -> Observation:
        """Return the observation of the node's process."""
        return await self._runtimes[node.runtime].observe(node)

    def watch(self, on_observation: OnObservation) -> None:
        """Report the observations of all of them."""
        for each in self._runtimes.values():
            each.watch(on_observation)

    def unwatch(self, node_id: str) -> None:
        """Stop watching a node, which keeps running."""
        for each in self._runtimes.values():
            each.unwatch(node_id)

    def is_outdated(self, node: Node) -> bool:
        """Return whether the node's lnd runs with outdated options."""
        return self._runtimes[node.runtime].is_outdated(node)

    async def run(self) -> None:
        """Maintain what nodes of each of them need."""
        await asyncio.gather(*(each.run() for each in self._runtimes.values()))

    def close(self) -> None:
        """Stop watching all nodes."""
        for each in self._runtimes.values():
            each.close()


class SeveralNodeFiles:
    """The files of nodes, wherever they are."""

    def __init__(self, homes: Mapping[RuntimeName, NodeFiles]) -> None:
        self._homes = homes

    async def log(self, node: Node, lines: int) -> list[str]:
        """Return the last lines of lnd's log."""
        return await self._homes[node.runtime].log(node, lines)

    async def channel_backup(self, node: Node) -> bytes | None:
        """Return lnd's own backup of its channels, where it can be read."""
        return await self._homes[node.runtime].channel_backup(node)

    async def public_key(self, node: Node) -> str:
        """Return the node's public key, where it can be read."""
        return await self._homes[node.runtime].public_key(node)

    def read_changes(self, node: Node, position: LogPosition) -> HomeChanges:
        """Return the changes in the node's folder."""
        return self._homes[node.runtime].read_changes(node, position)

    async def catch_up(self, node: Node, position: LogPosition) -> NewLines:
        """Read the rest of a node's log."""
        return await self._homes[node.runtime].catch_up(node, position)

    async def sweep(self, node: Node) -> tuple[str, ...]:
        """Delete plaintext macaroons and return their names."""
        return await self._homes[node.runtime].sweep(node)

    async def usage(self, node: Node) -> Usage:
        """Return the node's usage."""
        return await self._homes[node.runtime].usage(node)

    async def usages(self, nodes: Iterable[Node]) -> Mapping[str, Usage]:
        """Return each node's usage without its disk."""
        of: defaultdict[RuntimeName, list[Node]] = defaultdict(list)
        for node in nodes:
            of[node.runtime].append(node)
        found = await asyncio.gather(
            *(self._homes[runtime].usages(some) for runtime, some in of.items())
        )
        return {node_id: each for some in found for node_id, each in some.items()}
