"""The events of nodes, on their way to the webhooks of these nodes."""

from datetime import datetime, timedelta
from typing import Final

from leyden.domain.deliveries import Answer, Pause, Verdict, next_up
from leyden.storage.receivers import Receiver
from leyden.storage.stores import Stores
from leyden.storage.webhooks import KeptEvent

WEBHOOKS: Final = "webhooks"  # a kind of task; its key is the node's id
# As many of what waits as tell whether the first is the only one.
_GLANCE: Final = 2


class NodeMail:
    """What waits for the receivers of nodes; stale statuses are superseded."""

    async def find(self, stores: Stores, key: str) -> Receiver | None:
        """Return a node's receiver."""
        return await stores.receivers.find(key)

    async def next(
        self, stores: Stores, to: Receiver, *, now: datetime
    ) -> tuple[KeptEvent | None, bool]:
        """Return the event to send next, and whether no other event is pending."""
        pending = await stores.webhooks.pending(to.node_id, most=_GLANCE)
        # Nearly always the first one's time has come; else one behind it may be sooner.
        if len(pending) == _GLANCE and pending[0].due > now and pending[0].overtakable:
            pending = await stores.webhooks.pending(to.node_id)
        chosen = next_up((event.waiting for event in pending), now)
        if chosen is None:
            return None, False
        event = next(event for event in pending if event.position == chosen.position)
        return event, len(pending) == 1

    async def settle(
        self,
        tx: Stores,
        to: Receiver,  # noqa: ARG002  the protocol's
        message: KeptEvent,
        answer: Answer,
        verdict: Verdict,
        *,
        at: datetime,
    ) -> None:
        """Store an attempt, and what it means for the event."""
        await tx.deliveries.add(message.id, answer, verdict, at=at)

    async def set_health(
        self,
        tx: Stores,
        to: Receiver,
        *,
        failing_since: datetime | None,
        pause: Pause | None,
    ) -> None:
        """Store the receiver's health."""
        await tx.receivers.set_health(
            to.node_id, failing_since=failing_since, pause=pause
        )

    async def resume(
        self, tx: Stores, to: Receiver, *, now: datetime, patience: timedelta
    ) -> None:
        """Send what waits for a resumed receiver, but not what is stale now."""
        await tx.webhooks.give_up(to.node_id, before=now - patience)
        await tx.webhooks.make_due(to.node_id, now=now)
        await tx.tasks.put(WEBHOOKS, to.node_id, due=now)


NODE_MAIL: Final = NodeMail()
