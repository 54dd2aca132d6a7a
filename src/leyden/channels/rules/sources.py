"""The sources of channels that an installation sells: its setting `market`.

There are two ways to order a channel: by a ticket, which any node can register in the
auction, or directly, for a node that the order names. At most one source creates
tickets. There may be more sources of direct channels later, such as other LSPs.

Just-in-time channels are nobody's order: wallets without an account buy them.
"""

from enum import StrEnum, auto
from typing import Final

from leyden.channels.rules.pricing import ChannelKind
from leyden.errors import SetupError


class Source(StrEnum):
    """Where a channel comes from; the values are those of the setting and the API."""

    POOL = auto()  # the public auction
    SIMULATED = auto()  # tickets that nobody can register
    OWN = auto()  # the operator's seller
    JIT = auto()  # the operator's purse

    @property
    def kind(self) -> ChannelKind | None:
        """How the channels of this source get to their nodes; None: unordered."""
        if self is Source.JIT:
            return None
        return ChannelKind.TICKET if self in OF_TICKETS else ChannelKind.DIRECT


OF_TICKETS: Final = frozenset({Source.POOL, Source.SIMULATED})
ALL_SOURCES: Final = (Source.POOL, Source.OWN, Source.JIT)


def parse(
    text: str, *, has_seller: bool, has_purse: bool = False
) -> tuple[Source, ...]:
    """Parse the sources in a setting; raise SetupError if they are not valid.

    A single source of tickets includes the seller, if one is configured: the setting
    had that meaning before it was a list, and keeps it for one more release.
    """
    words = [each.strip() for each in text.split(",")]
    found = []
    for word in words:
        try:
            found.append(Source(word))
        except ValueError:
            known = ", ".join(Source)
            raise SetupError(
                f"market: {word!r} is not a source of channels; choose from {known}"
            ) from None
    if len(set(found)) != len(found):
        raise SetupError("market: a source is listed twice")
    if set(found) >= OF_TICKETS:
        raise SetupError("market: list pool or simulated, not both")
    if Source.OWN in found and not has_seller:
        raise SetupError(
            "market: seller_host must be set for own; see "
            "docs/operators/sell-channels.md"
        )
    if Source.JIT in found and not has_purse:
        raise SetupError(
            "market: jit_host must be set for jit; see docs/operators/just-in-time.md"
        )
    if found == [Source.JIT]:
        raise SetupError(
            "market: list own, pool or simulated, too: jit sells to wallets that have "
            "no account"
        )
    if is_old(text, has_seller=has_seller):
        found.append(Source.OWN)
    return tuple(found)


def is_old(text: str, *, has_seller: bool) -> bool:
    """Return whether a setting has its old form, which includes the seller."""
    return has_seller and text.strip() in OF_TICKETS


def ticket_source(sources: tuple[Source, ...]) -> Source | None:
    """Return the source of tickets, if one is listed."""
    return next((each for each in sources if each in OF_TICKETS), None)
