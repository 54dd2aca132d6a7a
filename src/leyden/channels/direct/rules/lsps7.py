"""The LSPS7 protocol (bLIP-57, a draft): the fields of its orders.

Its errors are LSPS1's. Of LSPS1's codes the draft lacks the one for tokens, so a token
is an invalid parameter here.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from leyden.channels.direct.rules import lsps1
from leyden.values import Struct

MOST: Final = "max_channel_extension_expiry_blocks"
_BLOCKS: Final = "channel_extension_expiry_blocks"
_SCID: Final = re.compile(r"[0-9]{1,8}x[0-9]{1,8}x[0-9]{1,5}")
_REQUIRED: Final = ("short_channel_id", _BLOCKS)
_OPTIONAL: Final = ("token", "refund_onchain_address")
_IGNORED: Final = ("client_info",)
_LARGEST: Final = 2**32 - 1
_LONGEST_TEXT: Final = 512


class Lsps7Wish(Struct, frozen=True, kw_only=True):
    """A requested extension, of which only the channel is not checked yet."""

    scid: str
    blocks: int


def parse_order(params: Mapping[str, Any]) -> Lsps7Wish:
    """Parse the parameters of `create_order`; raise a fault if they are not valid."""
    lsps1.check_known(params, {*_REQUIRED, *_OPTIONAL, *_IGNORED})
    for field in _REQUIRED:
        if params.get(field) is None:
            raise lsps1.invalid(field, "is required")
    scid, blocks = params["short_channel_id"], params[_BLOCKS]
    if not isinstance(scid, str) or not _SCID.fullmatch(scid):
        raise lsps1.invalid("short_channel_id", "must be BLOCKxTRANSACTIONxOUTPUT")
    if isinstance(blocks, bool) or not isinstance(blocks, int):
        raise lsps1.invalid(_BLOCKS, "must be a whole number")
    if not 1 <= blocks <= _LARGEST:
        raise lsps1.invalid(_BLOCKS, "must be 1 or greater")
    for field in _OPTIONAL:
        value = params.get(field)
        if value is not None and (
            not isinstance(value, str) or len(value) > _LONGEST_TEXT
        ):
            raise lsps1.invalid(field, "must be a short string")
    # Nothing is ever refunded on-chain, so the address is checked but not used.
    if params.get("token"):
        raise lsps1.invalid("token", "no such token")
    return Lsps7Wish(scid=scid, blocks=blocks)
