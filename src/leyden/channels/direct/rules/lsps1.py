"""The LSPS1 protocol (bLIP-51): its errors, limits and order fields.

Amounts in satoshis are strings of digits; everything else has its natural JSON type. An
unknown field is rejected by name, as the specification requires, except for two that
wallets are known to send: `client_info` (ZEUS) and `public_key` (HTTP).
"""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum, auto
from typing import Any, Final

from leyden.base.rules.units import Sats
from leyden.channels.rules.pricing import LEASES, USUAL_LEASE
from leyden.errors import Refused
from leyden.values import Struct

PARSE, INVALID, METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
REJECTED, MISMATCH, NOT_FOUND, TOKEN = 1, 100, 101, 102

# How soon a funding transaction at the seller's fee rate usually confirms.
WITHIN_BLOCKS: Final = 6
# Two weeks to a year, like the leases that customers buy. The specification has a field
# only for the most; LSPs that state the least, too, name it like that.
SHORTEST_BLOCKS: Final = USUAL_LEASE
LONGEST_BLOCKS: Final = LEASES[-1]
_SATS = re.compile(r"[0-9]{1,16}")
# LDK's own ids of requests: 16 random bytes. ZEUS sends UUIDs.
_LDK_ID: Final = re.compile(r"[0-9a-f]{32}")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ID: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
_MAX_NAMED: Final = 10
_LARGEST: Final = 2**32 - 1
_LONGEST_TEXT: Final = 512


class Fault(Refused):
    """An LSPS1 error, with the code from the specification."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.data = dict(data)


def invalid(field: str, why: str) -> Fault:
    """Return the fault for a field that is missing or wrong."""
    # bLIP-50 requires `unrecognized`, bLIP-51 `property`; clients read either.
    data = {"property": field, "message": f"{field}: {why}", "unrecognized": []}
    return Fault(PARAMS, "Invalid params", data)


def mismatch(option: str, why: str) -> Fault:
    """Return the fault for an order beyond the limits in `get_info`."""
    data = {"property": option, "message": f"{option}: {why}"}
    return Fault(MISMATCH, "Option mismatch", data)


def rejected(why: str) -> Fault:
    """Return the fault for a valid order that is not accepted."""
    return Fault(REJECTED, "Client rejected", {"message": why})


def not_found() -> Fault:
    """Return the fault for an order that does not exist or is another client's."""
    return Fault(NOT_FOUND, "Not found", {"message": "there is no such order"})


class Transport(StrEnum):
    """The transport by which an order arrived."""

    BOLT8 = auto()  # in messages of the peer that gets the channel
    HTTP = auto()  # from anybody: the node in it is unverified


class SaleLimits(Struct, frozen=True, kw_only=True):
    """The limits of what is sold, for `get_info`."""

    smallest: Sats
    largest: Sats
    zero_conf: bool  # the seller can open zero-conf channels

    @property
    def confirmations(self) -> int:
        """The fewest confirmations that a client may request."""
        return 0 if self.zero_conf else 1

    def as_json(self) -> dict[str, Any]:
        """Return the fields of `get_info`."""
        least, largest = str(self.smallest), str(self.largest)
        return {
            "min_required_channel_confirmations": self.confirmations,
            "min_funding_confirms_within_blocks": WITHIN_BLOCKS,
            "supports_zero_channel_reserve": False,
            "min_channel_expiry_blocks": SHORTEST_BLOCKS,
            "max_channel_expiry_blocks": LONGEST_BLOCKS,
            "min_initial_client_balance_sat": "0",
            "max_initial_client_balance_sat": "0",
            "min_initial_lsp_balance_sat": least,
            "max_initial_lsp_balance_sat": largest,
            "min_channel_balance_sat": least,
            "max_channel_balance_sat": largest,
        }


class WantedChannel(Struct, frozen=True, kw_only=True):
    """A requested channel, already checked against the offer."""

    lsp_balance: Sats
    confirmations: int
    within_blocks: int
    expiry_blocks: int
    announce: bool
    token: str | None  # unchanged, because some clients compare it


def unknown_method() -> Fault:
    """Return the fault for a method that does not exist here."""
    return Fault(METHOD, "Method not found", {})


def params_of(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request's parameters; raise a fault if they are no object."""
    params = request.get("params")
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise invalid("params", "must be an object")
    return params


def is_ldk(id_: str | None) -> bool:
    """Return whether a request with this id is LDK's."""
    return id_ is not None and _LDK_ID.fullmatch(id_) is not None


def is_id(text: str) -> bool:
    """Return whether a text may be the id of an order."""
    return _ID.fullmatch(text) is not None


def check_known(params: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise a fault with the names of unknown fields, if any."""
    if extra := [each for each in params if each not in known]:
        named = [each for each in extra if _PLAIN.fullmatch(each)][:_MAX_NAMED]
        data = {
            "unrecognized": named,
            "property": named[0] if named else "",
            "message": "has unknown fields",
        }
        raise Fault(PARAMS, "Invalid params", data)


_REQUIRED: Final = (
    "lsp_balance_sat",
    "client_balance_sat",
    "required_channel_confirmations",
    "funding_confirms_within_blocks",
    "channel_expiry_blocks",
    "announce_channel",
)
_OPTIONAL: Final = ("token", "refund_onchain_address")
_IGNORED: Final = ("client_info",)


def parse_order(
    params: Mapping[str, Any], offer: SaleLimits, *, beside: Collection[str] = ()
) -> WantedChannel:
    """Parse the parameters of `create_order`; raise a fault if they are not valid.

    `beside` are fields that the transport adds.
    """
    check_known(params, {*_REQUIRED, *_OPTIONAL, *_IGNORED, *beside})
    for field in _REQUIRED:
        if params.get(field) is None:
            raise invalid(field, "is required")
    # Nothing is ever refunded on-chain, so the address is checked but not used.
    _text(params, "refund_onchain_address")
    token = _text(params, "token")
    wanted = WantedChannel(
        lsp_balance=_sats(params, "lsp_balance_sat"),
        confirmations=_number(params, "required_channel_confirmations"),
        within_blocks=_number(params, "funding_confirms_within_blocks"),
        expiry_blocks=_number(params, "channel_expiry_blocks"),
        announce=_flag(params, "announce_channel"),
        token=token,
    )
    if wanted.announce and not wanted.confirmations:
        raise invalid(
            "required_channel_confirmations",
            "must be at least 1 for an announced channel",
        )
    _check_offered(wanted, _sats(params, "client_balance_sat"), offer)
    if token:
        raise Fault(TOKEN, "Unrecognized or stale token", {"message": "no such token"})
    return wanted


def _check_offered(
    wanted: WantedChannel, client_balance: Sats, offer: SaleLimits
) -> None:
    if client_balance:
        raise mismatch("max_initial_client_balance_sat", "is 0")
    if wanted.lsp_balance < offer.smallest:
        raise mismatch("min_initial_lsp_balance_sat", f"is {offer.smallest}")
    if wanted.lsp_balance > offer.largest:
        raise mismatch("max_initial_lsp_balance_sat", f"is {offer.largest}")
    if wanted.confirmations < offer.confirmations:
        raise mismatch(
            "min_required_channel_confirmations", f"is {offer.confirmations}"
        )
    if wanted.within_blocks < WITHIN_BLOCKS:
        raise mismatch("min_funding_confirms_within_blocks", f"is {WITHIN_BLOCKS}")
    if wanted.expiry_blocks < SHORTEST_BLOCKS:
        raise mismatch("min_channel_expiry_blocks", f"is {SHORTEST_BLOCKS}")
    if wanted.expiry_blocks > LONGEST_BLOCKS:
        raise mismatch("max_channel_expiry_blocks", f"is {LONGEST_BLOCKS}")


def _sats(params: Mapping[str, Any], field: str) -> Sats:
    value = params[field]
    if not isinstance(value, str) or not _SATS.fullmatch(value):
        raise invalid(field, "must be satoshis: a string of digits")
    return Sats(int(value))


def _number(params: Mapping[str, Any], field: str) -> int:
    value = params[field]
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid(field, "must be a whole number")
    if not 0 <= value <= _LARGEST:
        raise invalid(field, "is out of range")
    return value


def _flag(params: Mapping[str, Any], field: str) -> bool:
    value = params[field]
    if not isinstance(value, bool):
        raise invalid(field, "must be true or false")
    return value


def _text(params: Mapping[str, Any], field: str) -> str | None:
    value = params.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise invalid(field, "must be a short string")
    return value
