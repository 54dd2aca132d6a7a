"""Request and response schemas of the backup endpoints."""

from typing import Annotated

import msgspec
from msgspec import Meta

from leyden.schemas.kinds import (
    Created,
    MacaroonName,
    NodeId,
    NodeName,
    SealedSeed,
    Time,
    time,
)

Ciphertext = Annotated[
    str, Meta(description="Ciphertext: encrypt it before you send it.")
]


class NewMacaroon(msgspec.Struct, forbid_unknown_fields=True):
    """An encrypted macaroon and the name to store it under."""

    macaroon: Ciphertext
    name: MacaroonName


class NewSeed(msgspec.Struct, forbid_unknown_fields=True):
    """The encrypted seed."""

    seed: Ciphertext


Digest = Annotated[
    str,
    Meta(
        pattern="^[0-9a-fA-F]{64}$",
        description="SHA-256, in hex, of the ciphertext to replace.",
    ),
]


class ResealedSeed(NewSeed, forbid_unknown_fields=True):
    """The seed, encrypted under a new password."""

    replaces: Digest


class ResealedMacaroon(NewMacaroon, forbid_unknown_fields=True):
    """A macaroon, encrypted under a new password."""

    replaces: Digest


class NewlySealed(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Backups encrypted under a new password."""

    seed: Annotated[
        ResealedSeed | None,
        Meta(description="The seed, encrypted with the new password."),
    ] = None
    macaroons: Annotated[
        list[ResealedMacaroon],
        Meta(description="Macaroons, encrypted with the new password."),
    ] = []


class ResealedAnswer(msgspec.Struct):
    """The number of backups replaced."""

    node_id: NodeId
    resealed: Annotated[int, Meta(description="Number of replaced backups.")]


class ReplacedItem(msgspec.Struct):
    """A replaced backup; `name` is empty for the seed."""

    name: Annotated[str, Meta(description="The macaroon's name; empty for the seed.")]
    until: Annotated[str, time("When it was replaced")]
    value: Annotated[str, Meta(description="The ciphertext as you sent it.")]


class ReplacedAnswer(msgspec.Struct):
    """Backups replaced in the last 30 days, newest first."""

    node_id: NodeId
    replaced: Annotated[
        list[ReplacedItem], Meta(description="The replaced backups, newest first.")
    ]


class MacaroonItem(msgspec.Struct):
    """A stored macaroon, without its value."""

    node_id: NodeId
    name: MacaroonName
    created: Created


class FoundInClear(msgspec.Struct):
    """Plaintext macaroons that lnd wrote to disk and we removed."""

    time: Time
    number: Annotated[int, Meta(description="Number of macaroons found.")]


class MacaroonsAnswer(msgspec.Struct):
    """Stored macaroons, oldest first, and those found in plaintext."""

    macaroons: Annotated[
        list[MacaroonItem], Meta(description="The stored macaroons, oldest first.")
    ]
    found_in_clear: Annotated[
        list[FoundInClear],
        Meta(description="Plaintext macaroons found in the last 30 days."),
    ]


class MacaroonAnswer(MacaroonItem):
    """A stored macaroon, exactly as it was sent."""

    macaroon: Annotated[
        str, Meta(description="The macaroon as you sent it: encrypted by you.")
    ]


class SeedAnswer(msgspec.Struct):
    """The stored seed, exactly as it was sent."""

    node_id: NodeId
    node_name: NodeName
    seed: SealedSeed


class ChannelsAnswer(msgspec.Struct):
    """lnd's static channel backup (SCB): base64 of `channel.backup`."""

    node_id: NodeId
    created: Created
    channel_backup: Annotated[
        str,
        Meta(
            description=(
                "Base64 of channel.backup, which lnd encrypted with a key from the "
                "seed."
            )
        ),
    ]


class NewDrill(msgspec.Struct, forbid_unknown_fields=True):
    """When the backups were opened, signed by the node."""

    time: Annotated[
        str, Meta(description="When the backups were decrypted, in ISO 8601 and UTC.")
    ]
    signature: Annotated[
        str,
        Meta(
            description="104 letters: what the node's `signmessage` makes of `The "
            "backups of node NODE_ID were opened at TIME.`"
        ),
    ]


class DrillAnswer(NewDrill):
    """When the backups were opened, in words that the node has signed."""

    message: Annotated[
        str, Meta(description="What was signed, for `verifymessage` of any lnd.")
    ]


class ProofsAnswer(msgspec.Struct):
    """How safe the node's backups are."""

    node_id: NodeId
    channels_created: Annotated[
        str | None,
        Meta(
            description="When the newest channel backup was stored, in ISO 8601 and "
            "UTC; null if there is none."
        ),
    ]
    channels_left: Annotated[
        bool | None,
        Meta(
            description=(
                "Whether the newest channel backup is stored outside the platform's "
                "machine; null if no backups are set up."
            )
        ),
    ]
    drill: Annotated[
        DrillAnswer | None,
        Meta(description="The last `leyden wallet drill`; null if you have run none."),
    ]
    drill_is_due: Annotated[
        bool,
        Meta(
            description=(
                "Whether the last drill was over 90 days ago, or you have run none."
            )
        ),
    ]
