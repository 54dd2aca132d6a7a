"""`leyden wallet receive --just-in-time`: what it refuses before anybody can pay."""

import pytest

from leyden.client.wrapped_invoices import WrappedInvoices
from leyden.schemas.wrapped import ConnectionMethod, WrappingFee, WrappingInfo
from tests.client.served_platform import ServedPlatform
from tests.customer.cli.paying_node import PEER, PayingNode
from tests.customer.cli.test_money import Wallet, lnd, name, wallet  # noqa: F401  fixtures


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--just-in-time: needs SATS"),
        (("5000", "--on-chain"), "can't be used with --on-chain"),
        (("5000", "--both"), "can't be used with --on-chain"),
        (("5000", "--no-hints"), "can't be used with --on-chain"),
    ],
)
def test_options_that_mean_something_else_are_refused(
    wallet: Wallet,  # noqa: F811
    lnd: PayingNode,  # noqa: F811
    words: tuple[str, ...],
    says: str,
) -> None:
    refused = wallet("receive", *words, "--just-in-time")
    assert refused.exit_code == 2
    assert says in refused.stderr
    assert not lnd.asked


def test_a_node_that_takes_no_such_channel_is_told_how_to(
    wallet: Wallet,  # noqa: F811
    lnd: PayingNode,  # noqa: F811
) -> None:
    refused = wallet("receive", "100000", "--just-in-time")
    assert refused.exit_code != 0
    assert f"leyden nodes settings '{wallet.name}' --zeroconf" in refused.stderr
    assert not lnd.done("/v1/invoices")


def test_a_platform_that_sells_none_says_so(
    wallet: Wallet,  # noqa: F811
    lnd: PayingNode,  # noqa: F811
    platform: ServedPlatform,
) -> None:
    with platform.client() as client:
        node = client.nodes.find(wallet.name)
        client.nodes.change_settings(node.node_id, zeroconf=True, optionscidalias=True)
    refused = wallet("receive", "100000", "--just-in-time")
    assert refused.exit_code != 0
    assert "sells no just-in-time channels; leave --just-in-time out" in refused.stderr
    assert not lnd.done("/v1/invoices")


@pytest.mark.parametrize("fee_sat", [100_000, 100_001])
def test_a_platform_that_wants_all_of_it_gets_no_invoice(
    wallet: Wallet,  # noqa: F811
    lnd: PayingNode,  # noqa: F811
    platform: ServedPlatform,
    monkeypatch: pytest.MonkeyPatch,
    fee_sat: int,
) -> None:
    """For nothing, lnd creates an invoice that may be paid with any amount."""
    with platform.client() as client:
        node = client.nodes.find(wallet.name)
        client.nodes.change_settings(node.node_id, zeroconf=True, optionscidalias=True)
    at = ConnectionMethod(address="2001:db8::7", port=9735, type="ipv6")
    info = WrappingInfo(connection_methods=[at], pubkey=PEER)
    fee = WrappingFee(fee_amount_msat=fee_sat * 1_000, id="1")
    monkeypatch.setattr(WrappedInvoices, "info", lambda _: info)
    monkeypatch.setattr(WrappedInvoices, "fee", lambda *_: fee)
    lnd.answers["/v1/getinfo"] = {"identity_pubkey": PEER}
    refused = wallet("receive", "100000", "--just-in-time")
    assert refused.exit_code != 0
    assert f"a fee of {fee_sat:,} sat" in refused.stderr
    assert not lnd.done("/v1/invoices")
    (wish,) = lnd.done("/v1/peers")
    assert wish["addr"] == {"pubkey": PEER, "host": "[2001:db8::7]:9735"}
