"""What LSPS1 takes and refuses: each leniency with what a real client sends."""

import json
from typing import Any

import pytest

from leyden.base.rules.units import Sats
from leyden.channels.direct.rules import lsps1
from leyden.channels.direct.rules.lsps1 import Fault, SaleLimits, parse_order

OFFER = SaleLimits(smallest=Sats(100_000), largest=Sats(16_700_000), zero_conf=True)
WANTED = {
    "lsp_balance_sat": "1000000",
    "client_balance_sat": "0",
    "required_channel_confirmations": 1,
    "funding_confirms_within_blocks": 6,
    "channel_expiry_blocks": 4_380,
    "announce_channel": False,
}


def fault(**fields: Any) -> Fault:
    with pytest.raises(Fault) as found:
        parse_order({**WANTED, **fields}, OFFER)
    return found.value


def test_what_is_sold_is_told_in_flat_fields() -> None:
    assert OFFER.as_json() == {
        "min_required_channel_confirmations": 0,
        "min_funding_confirms_within_blocks": 6,
        "supports_zero_channel_reserve": False,
        "min_channel_expiry_blocks": 2_016,
        "max_channel_expiry_blocks": 52_416,
        "min_initial_client_balance_sat": "0",
        "max_initial_client_balance_sat": "0",
        "min_initial_lsp_balance_sat": "100000",
        "max_initial_lsp_balance_sat": "16700000",
        "min_channel_balance_sat": "100000",
        "max_channel_balance_sat": "16700000",
    }


def test_the_fields_of_the_specification_are_read() -> None:
    wanted = parse_order({**WANTED, "token": ""}, OFFER)
    assert (wanted.lsp_balance, wanted.confirmations) == (1_000_000, 1)
    assert (wanted.expiry_blocks, wanted.announce) == (4_380, False)


# Leniencies. Bytes are as the clients send them: docs/operators/lsps1.md has the table.


def test_ldk_sends_null_for_no_token() -> None:
    params = json.loads(
        '{"lsp_balance_sat":"600000","client_balance_sat":"0",'
        '"required_channel_confirmations":0,"funding_confirms_within_blocks":6,'
        '"channel_expiry_blocks":4320,"token":null,"refund_onchain_address":null,'
        '"announce_channel":false}'
    )
    assert parse_order(params, OFFER).token is None


def test_zeus_sends_client_info_and_an_empty_refund_address() -> None:
    params = json.loads(
        '{"lsp_balance_sat":"400000","client_balance_sat":"0",'
        '"required_channel_confirmations":8,"funding_confirms_within_blocks":6,'
        '"channel_expiry_blocks":12960,"token":"","refund_onchain_address":"",'
        '"announce_channel":false,'
        '"client_info":{"app":"ZEUS","app_version":"0.12.0","node":"LND"}}'
    )
    assert parse_order(params, OFFER).token == ""


def test_alby_hub_sends_a_public_key_and_a_refund_address() -> None:
    params = json.loads(
        '{"public_key":"02ab","lsp_balance_sat":"450000","client_balance_sat":"0",'
        '"required_channel_confirmations":0,"funding_confirms_within_blocks":6,'
        '"channel_expiry_blocks":13000,"token":"",'
        '"refund_onchain_address":"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",'
        '"announce_channel":false}'
    )
    assert parse_order(params, OFFER, beside=("public_key",)).expiry_blocks == 13_000
    with pytest.raises(Fault):
        parse_order(params, OFFER)  # over BOLT8 the peer is the node


# Everything else is refused, by the name of the field.


@pytest.mark.parametrize(
    "fields",
    [
        {"fee_total_sat": "1"},
        {"order_total_sat": "1"},
        {"public_key": "02"},
        {"node": "x"},
        {"LSP_BALANCE_SAT": "1"},
    ],
)
def test_fields_that_nobody_knows_are_named(fields: dict[str, Any]) -> None:
    """Prices that a client sends are among them."""
    refused = fault(**fields)
    assert refused.code == -32602
    assert refused.data["unrecognized"] == list(fields)


def test_no_more_is_repeated_than_plain_names() -> None:
    refused = fault(**{f"x{i}": 1 for i in range(50)}, **{"<script>" * 9: 1})
    assert refused.data["unrecognized"] == [f"x{i}" for i in range(10)]


@pytest.mark.parametrize("field", WANTED)
def test_a_missing_field_is_named(field: str) -> None:
    assert fault(**{field: None}).data["property"] == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lsp_balance_sat", 1_000_000),
        ("lsp_balance_sat", "-1"),
        ("lsp_balance_sat", "1e6"),
        ("lsp_balance_sat", "1000000.0"),
        ("lsp_balance_sat", "9" * 17),
        ("lsp_balance_sat", "\u0661\u0660\u0660\u0660\u0660\u0660"),
        ("lsp_balance_sat", ""),
        ("client_balance_sat", 0),
        ("required_channel_confirmations", "1"),
        ("required_channel_confirmations", True),
        ("required_channel_confirmations", -1),
        ("funding_confirms_within_blocks", 6.0),
        ("channel_expiry_blocks", 2**32),
        ("announce_channel", "false"),
        ("announce_channel", 0),
        ("token", 1),
        ("token", "x" * 513),
        ("refund_onchain_address", []),
    ],
)
def test_a_value_of_another_kind_is_refused(field: str, value: object) -> None:
    refused = fault(**{field: value})
    assert (refused.code, refused.data["property"]) == (-32602, field)
    assert refused.data["unrecognized"] == []


@pytest.mark.parametrize(
    ("field", "value", "option"),
    [
        ("lsp_balance_sat", "99999", "min_initial_lsp_balance_sat"),
        ("lsp_balance_sat", "16700001", "max_initial_lsp_balance_sat"),
        ("client_balance_sat", "1", "max_initial_client_balance_sat"),
        ("funding_confirms_within_blocks", 5, "min_funding_confirms_within_blocks"),
        ("channel_expiry_blocks", 52_417, "max_channel_expiry_blocks"),
        ("channel_expiry_blocks", 2_015, "min_channel_expiry_blocks"),
        ("channel_expiry_blocks", 0, "min_channel_expiry_blocks"),
    ],
)
def test_what_is_not_offered_names_the_option(
    field: str, value: object, option: str
) -> None:
    refused = fault(**{field: value})
    assert (refused.code, refused.data["property"]) == (100, option)


def test_zero_confirmations_are_sold_where_the_seller_can() -> None:
    zero = {**WANTED, "required_channel_confirmations": 0}
    assert parse_order(zero, OFFER).confirmations == 0
    confirmed = SaleLimits(smallest=Sats(1), largest=OFFER.largest, zero_conf=False)
    assert confirmed.as_json()["min_required_channel_confirmations"] == 1
    with pytest.raises(Fault, match="Option mismatch"):
        parse_order(zero, confirmed)
    with pytest.raises(Fault, match="Invalid params"):
        parse_order({**zero, "announce_channel": True}, OFFER)


def test_there_are_no_tokens() -> None:
    assert fault(token="a coupon").code == lsps1.TOKEN


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lsp_balance_sat", "100000"),
        ("lsp_balance_sat", "16700000"),
        ("funding_confirms_within_blocks", 2**32 - 1),
        ("channel_expiry_blocks", 52_416),
        ("channel_expiry_blocks", 2_016),
        ("refund_onchain_address", "x" * 512),
    ],
)
def test_the_least_and_the_most_are_sold(field: str, value: object) -> None:
    parse_order({**WANTED, field: value}, OFFER)


# What a fault says, whole: clients read one field of it or another.


def shown_fault(refused: Fault) -> tuple[int, str, dict[str, Any]]:
    return refused.code, str(refused), refused.data


def test_a_wrong_field_is_told_with_what_is_wrong_with_it() -> None:
    assert shown_fault(fault(lsp_balance_sat=1_000_000)) == (
        -32602,
        "Invalid params",
        {
            "property": "lsp_balance_sat",
            "message": "lsp_balance_sat: must be satoshis: a string of digits",
            "unrecognized": [],
        },
    )


def test_an_unknown_field_is_told_by_its_name_if_that_is_plain() -> None:
    message = "has unknown fields"
    assert shown_fault(fault(node="x", bps=5)) == (
        -32602,
        "Invalid params",
        {"unrecognized": ["node", "bps"], "property": "node", "message": message},
    )
    assert shown_fault(fault(**{"<script>": 1})) == (
        -32602,
        "Invalid params",
        {"unrecognized": [], "property": "", "message": message},
    )


def test_what_is_beyond_the_offer_is_told_with_the_offer() -> None:
    assert shown_fault(fault(lsp_balance_sat="99999")) == (
        100,
        "Option mismatch",
        {
            "property": "min_initial_lsp_balance_sat",
            "message": "min_initial_lsp_balance_sat: is 100000",
        },
    )


def test_who_is_refused_and_what_is_not_there_is_told_with_the_reason() -> None:
    assert shown_fault(lsps1.rejected("too many orders are open")) == (
        1,
        "Client rejected",
        {"message": "too many orders are open"},
    )
    assert shown_fault(lsps1.not_found()) == (
        101,
        "Not found",
        {"message": "there is no such order"},
    )
