"""Request and response schemas of deleted nodes."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.kinds import (
    Created,
    LndVersion,
    Network,
    NodeId,
    NodeName,
    time,
)
from leyden.schemas.settings_sent import Text


class DeletedNode(msgspec.Struct):
    """A deleted node that can be restored."""

    node_name: NodeName
    node_id: NodeId
    network: Network
    lnd_version: LndVersion
    created: Created
    deleted: Annotated[str, time("When it was deleted")]
    restorable_until: Annotated[str, time("When its data is destroyed")]


class DeletedNodesAnswer(msgspec.Struct):
    """The deleted nodes that can be restored, the last deleted first."""

    nodes: Annotated[
        list[DeletedNode], Meta(description="The nodes, at most 100 of them.")
    ]


class Restore(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The name of the restored node; {} for the one it had."""

    name: Annotated[
        Text | UnsetType,
        Meta(description="New name, if the old one is taken."),
    ] = UNSET
