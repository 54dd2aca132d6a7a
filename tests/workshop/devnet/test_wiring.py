"""The settings of a platform on its private chain."""

from pathlib import Path

import pytest

from leyden.base.settings import Settings
from leyden.channels.wiring.channels import purse_of, sources_of
from leyden_workshop.devnet import wiring
from leyden_workshop.devnet.access import folder
from leyden_workshop.devnet.layout import access_for


@pytest.mark.parametrize(
    ("given", "market"),
    [
        ({}, "pool, own"),
        ({"devnet_jit": True}, "pool, own, jit"),
        ({"devnet_jit": True, "devnet_market": False}, "simulated"),
    ],
)
def test_the_market_lists_what_the_chain_has(
    tmp_path: Path, given: dict[str, bool], market: str
) -> None:
    settings = Settings(home=str(tmp_path), **given)  # type: ignore[arg-type]
    folder(tmp_path).joinpath("btcd").mkdir(parents=True)
    chain = access_for(tmp_path, "simnet", wiring.ports(settings))
    running = wiring.with_chain(settings, chain)
    assert running.market == market
    assert ", ".join(sources_of(running)) == market
    assert (purse_of(running) is not None) is market.endswith("jit")
