"""What a new organization does first, until all of it is done."""

from collections.abc import Sequence

from leyden.base.pages.visits import Visit
from leyden.base.rules.sign_in import Right
from leyden.nodes.pages.fleet import rules_of
from leyden.people.rows.first_steps import FirstSteps
from leyden.values import Struct


class Task(Struct, frozen=True, kw_only=True):
    """A line of the checklist, and where it is done."""

    name: str
    text: str
    label: str
    to: str  # "" while it cannot be done yet
    done: bool


async def tasks(visit: Visit) -> Sequence[Task]:
    """Return the checklist; empty once it is done, or without the right to do it."""
    if not visit.may(Right.NODES):
        return ()
    found = await visit.rows.first_steps.find(visit.organization_id)
    every = [task for task in _every(visit, found) if task is not None]
    return () if all(task.done for task in every) else every


def _every(visit: Visit, found: FirstSteps) -> Sequence[Task | None]:
    rules = rules_of(visit)
    node = f"{visit.root}/nodes/{found.node_id}" if found.node_id else ""
    return (
        Task(
            name="Create a node",
            text="Your own lnd, ready in seconds.",
            label="Create node",
            to=f"{visit.root}/nodes/new",
            done=bool(node),
        ),
        # With an authority of others, browsers trust nodes already. Otherwise a wallet
        # shows that somebody's does: only the browser itself knows.
        None
        if rules.issued
        else Task(
            name="Trust the platform's certificates",
            text="So that your browser can reach your nodes. Once for each machine.",
            label="Trust certificates",
            to="/docs/trust",
            done=found.has_wallet,
        ),
        Task(
            name="Create its wallet",
            text="In your browser. The platform never sees the password or seed.",
            label="Create wallet",
            to=f"{node}/wallet/initialise" if node else "",
            done=found.has_wallet,
        ),
        Task(
            name="Order a channel",
            text="A node needs inbound capacity to receive payments.",
            label="Order channel",
            to=f"{visit.root}/channels/new",
            done=found.has_channel,
        )
        if visit.may(Right.MONEY)
        else None,
        Task(
            name="Create an API key",
            text="For programs that manage your nodes and channels.",
            label="Create key",
            to=f"{visit.root}/keys",
            done=found.has_key,
        ),
        Task(
            name="Add a webhook endpoint",
            text="It tells your program what happens.",
            label="Add webhook endpoint",
            to=f"{visit.root}/events/endpoints",
            done=found.has_endpoint,
        ),
    )
