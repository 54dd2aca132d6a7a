"""The sources of channels that an installation sells: its setting `market`.

There are two ways to order a channel: by a ticket, which any node can register in the
auction, or directly, for a node that the order names. At most one source creates
tickets. Direct channels are the operator's own, or bought from other LSPs, and the
cheapest that can be had is sold.

Just-in-time channels are nobody's order: wallets without an account buy them.
"""

import re
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
    LSPS1 = auto()  # other LSPs; the setting has the URL of each

    @property
    def kind(self) -> ChannelKind | None:
        """How the channels of this source get to their nodes; None: unordered."""
        if self is Source.JIT:
            return None
        return ChannelKind.TICKET if self in OF_TICKETS else ChannelKind.DIRECT


OF_TICKETS: Final = frozenset({Source.POOL, Source.SIMULATED})
ALL_SOURCES: Final = (Source.POOL, Source.OWN, Source.JIT)

_LSP: Final = "lsps1:"
_URL: Final = re.compile(
    r"(https?)://([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::[0-9]{1,5})?"
    r"(?:/[A-Za-z0-9._~/-]{0,200})?"
)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


def parse(
    text: str, *, has_seller: bool, has_purse: bool = False, has_payer: bool = False
) -> tuple[Source, ...]:
    """Parse the sources in a setting; raise SetupError if they are not valid.

    A single source of tickets includes the seller, if one is configured: the setting
    had that meaning before it was a list, and keeps it for one more release.
    """
    words = [each.strip() for each in text.split(",")]
    named = [Source.LSPS1 if each.startswith(_LSP) else _named(each) for each in words]
    found = list(dict.fromkeys(named))
    if len(set(words)) != len(words):
        raise SetupError("market: a source is listed twice")
    if set(found) >= OF_TICKETS:
        raise SetupError("market: list pool or simulated, not both")
    if Source.OWN in found and not has_seller:
        raise SetupError(
            "market: seller_host must be set for own; see "
            "docs/operators/sell-channels.md"
        )
    if Source.LSPS1 in found and not has_payer:
        raise SetupError(
            "market: buy_host or seller_host must be set for lsps1: the lnd that pays; "
            "see docs/operators/sell-channels.md"
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


def _named(word: str) -> Source:
    if word in set(Source) - {Source.LSPS1}:
        return Source(word)
    known = ", ".join(
        f"{each}:URL" if each is Source.LSPS1 else each for each in Source
    )
    raise SetupError(
        f"market: {word!r} is not a source of channels; choose from {known}"
    )


def lsps(text: str, *, has_private_chain: bool) -> tuple[str, ...]:
    """Return the URLs of the LSPs in a setting; raise SetupError for an invalid one.

    With http, somebody in between could name another invoice; so only on a private
    chain, or this machine.
    """
    words = [each.strip() for each in text.split(",") if each.strip().startswith(_LSP)]
    found = tuple(each.removeprefix(_LSP).rstrip("/") for each in words)
    for url in found:
        matched = _URL.fullmatch(url)
        if matched is None:
            raise SetupError(
                "market: a source lsps1:URL needs a URL like "
                "https://lsp.example/api/v1, without user, query and fragment"
            )
        if matched[1] == "http" and not (has_private_chain or matched[2] in _LOOPBACK):
            raise SetupError("market: a source lsps1:URL needs https")
    return found


def is_old(text: str, *, has_seller: bool) -> bool:
    """Return whether a setting has its old form, which includes the seller."""
    return has_seller and text.strip() in OF_TICKETS


def ticket_source(sources: tuple[Source, ...]) -> Source | None:
    """Return the source of tickets, if one is listed."""
    return next((each for each in sources if each in OF_TICKETS), None)
