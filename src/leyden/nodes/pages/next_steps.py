"""What a node needs from its owner next: one thing, and one button for it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from leyden.nodes.rules.nodes import DesiredState, Node, NodeStatus, reason_of
from leyden.values import Struct, replace


class NextStep(Struct, frozen=True, kw_only=True):
    """Why a node needs its owner, and the button that leads on."""

    title: str
    text: str
    label: str
    to: str  # below the node's address
    starts: bool = False  # the button starts the node, rather than leading somewhere
    bad: bool = False


_INIT: Final = NextStep(
    title="Create a wallet to finish setup.",
    text="Until then, anyone at an allowed IP address could create it.",
    label="Create wallet",
    to="/wallet/initialise",
)
_UNREACHABLE: Final = NextStep(
    title="Allow your IP address to finish setup.",
    text="Nobody can reach this node yet, so nobody can create its wallet.",
    label="Allow IP addresses",
    to="/whitelist",
)
_WITHOUT_REST: Final = NextStep(
    title="Create a wallet to finish setup.",
    text=(
        "Your browser needs the node's REST API, which is off. Turn it on, or use the "
        "command line."
    ),
    label="Open settings",
    to="/settings",
)
_LOCKED: Final = NextStep(
    title="The wallet is locked.",
    text="Payments and channels wait until you unlock it with its password, "
    "which only you have.",
    label="Unlock wallet",
    to="/wallet/unlock",
)
_STOPPED: Final = NextStep(
    title="This node is stopped.",
    text="It stays off until you start it.",
    label="Start node",
    to="/start",
    starts=True,
)
_ENDED: Final = NextStep(
    title="lnd stopped unexpectedly.",
    text="The platform restarts it in a moment.",
    label="Start now",
    to="/start",
    starts=True,
)
# An update waits until the wallet is made or open: first things first.
UPDATED_IN: Final = frozenset(
    {NodeStatus.RUNNING, NodeStatus.STOPPED, NodeStatus.FAILED}
)
# What a list says of a node that needs its owner, and where that leads.
IN_LISTS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        NodeStatus.WAITING_INIT: (_INIT.label, _INIT.to),
        NodeStatus.WAITING_UNLOCK: (_LOCKED.label, _LOCKED.to),
        NodeStatus.FAILED: ("View log", "/log"),
    }
)


def next_step(node: Node) -> NextStep | None:
    """Return what the node needs next, if it needs its owner at all."""
    reason = reason_of(node.status, node.trouble)
    match node.status:
        case NodeStatus.WAITING_INIT if not node.settings.whitelist:
            return _UNREACHABLE
        case NodeStatus.WAITING_INIT:
            return _INIT if node.settings.rest else _WITHOUT_REST
        case NodeStatus.WAITING_UNLOCK:
            return replace(_LOCKED, text=f"{reason} {_LOCKED.text}".lstrip())
        case NodeStatus.STOPPED:
            is_wanted = node.wanted is DesiredState.RUNNING
            ended = replace(_ENDED, text=f"{reason} {_ENDED.text}".lstrip())
            return ended if is_wanted else _STOPPED
        case NodeStatus.FAILED:
            return NextStep(
                title="This node could not be started.",
                text=f"{reason} The platform tries again automatically.".lstrip(),
                label="Start now",
                to="/start",
                starts=True,
                bad=True,
            )
        case _:
            return None
