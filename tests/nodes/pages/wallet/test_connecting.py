"""What an app is handed: addresses and files with the macaroon in them."""

import base64
from typing import Any

import pytest

from leyden.client import macaroons
from tests.bakery import READER, baked
from tests.nodes.pages.wallet.conftest import Modular

pytestmark = pytest.mark.asyncio(loop_scope="session")

MACAROON = baked(READER).hex()
URL = "https://harbour-light.nodes.example:8080"


async def test_a_wallet_scans_the_nodes_address_with_the_macaroon(js: Modular) -> None:
    answer = base64.urlsafe_b64encode(baked(READER)).decode().rstrip("=")
    with_certificate = await js.call(
        "connecting", "lndconnect", "lndconnect://harbour:10009?cert=MIIB", MACAROON
    )
    assert with_certificate == f"lndconnect://harbour:10009?cert=MIIB&macaroon={answer}"
    without = await js.call(
        "connecting", "lndconnect", "lndconnect://harbour:8080", MACAROON
    )
    assert without == f"lndconnect://harbour:8080?macaroon={answer}"


async def test_btcpay_pins_the_certificate_of_the_platforms_authority(
    js: Modular,
) -> None:
    given: dict[str, Any] = {"url": URL, "thumbprint": "ab" * 32}
    pinned = await js.call("connecting", "btcpay", given, MACAROON)
    assert pinned == (
        f"type=lnd-rest;server={URL}/;macaroon={MACAROON};certthumbprint={'ab' * 32}"
    )
    public = await js.call(
        "connecting", "btcpay", {**given, "thumbprint": ""}, MACAROON
    )
    assert public == f"type=lnd-rest;server={URL}/;macaroon={MACAROON}"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("zeus", "zeus.macaroon"),
        ("till of the shop", "till-of-the-shop.macaroon"),
        ("../../$(id)", "id-.macaroon"),
        ("", "app.macaroon"),
    ],
)
async def test_a_file_has_a_name_that_no_shell_has_to_quote(
    js: Modular, name: str, file: str
) -> None:
    assert await js.call("connecting", "fileName", name) == file


async def test_pages_and_commands_have_the_same_presets(js: Modular) -> None:
    presets = await js.run("async (modules) => (await modules('grants')).PRESETS")
    assert set(presets) == set(macaroons.PRESETS)
    for name, permissions in macaroons.PRESETS.items():
        may = {f"{each['entity']}:{each['action']}" for each in presets[name]}
        assert may - {"signer:write"} == set(permissions) - {"signer:write"}, name
