"""Recipes of the dashboard, run as they are shown, against a real lnd by its name."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from leyden.errors import NodeRefused
from leyden.nodes.pages.recipes import RECIPES
from tests.programs import needs
from tests.stories import recipes
from tests.stories.platform import Owned, RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium"),
]
_HASH = "00" * 32
# What each app calls, as far as a macaroon may forbid it. What would change something
# is asked without what it needs, and refused for that.
CALLS = {
    "zeus": (
        *(("GET", "/v1/getinfo"), ("GET", "/v1/channels"), ("GET", "/v1/peers")),
        *(("GET", "/v1/balance/blockchain"), ("GET", "/v1/transactions")),
        *(
            ("GET", "/v1/newaddress"),
            ("POST", "/v1/invoices"),
            ("POST", "/v1/channels"),
        ),
        *(("POST", "/v2/router/send"), ("POST", "/v1/transactions")),
        ("POST", "/v1/signmessage"),
    ),
    "btcpay": (
        *(("GET", "/v1/getinfo"), ("POST", "/v1/invoices"), ("GET", "/v1/invoices")),
        *(("GET", f"/v1/invoice/{_HASH}"), ("GET", "/v1/channels")),
        *(("GET", "/v1/balance/blockchain"), ("GET", "/v1/balance/channels")),
        *(("GET", "/v1/channels/pending"), ("GET", "/v1/newaddress")),
    ),
    "lnbits": (
        *(("GET", "/v1/balance/channels"), ("POST", "/v1/invoices")),
        *(("POST", "/v1/channels/transactions"), ("GET", f"/v1/invoice/{_HASH}")),
        ("GET", "/v1/payments"),
    ),
    "thunderhub": (
        *(("GET", "/v1/getinfo"), ("GET", "/v1/channels"), ("GET", "/v1/peers")),
        *(("GET", "/v1/graph/info"), ("GET", "/v1/fees"), ("POST", "/v1/chanpolicy")),
        *(("GET", "/v1/payments"), ("POST", "/v1/channels"), ("POST", "/v1/peers")),
        *(("GET", "/v1/channels/backup"), ("POST", "/v1/signmessage")),
    ),
    "rtl": (
        *(("GET", "/v1/getinfo"), ("GET", "/v1/channels"), ("GET", "/v1/peers")),
        *(("GET", "/v1/balance/blockchain"), ("GET", "/v1/transactions")),
        *(("GET", "/v1/fees"), ("POST", "/v1/chanpolicy"), ("POST", "/v1/switch")),
        *(("GET", "/v1/newaddress"), ("POST", "/v1/invoices")),
        *(("POST", "/v2/router/send"), ("POST", "/v1/channels/transactions")),
        *(("GET", "/v1/channels/backup"), ("POST", "/v1/signmessage")),
    ),
    "albyhub": (
        *(("GET", "/v1/getinfo"), ("GET", "/v1/channels"), ("GET", "/v1/peers")),
        *(("GET", "/v1/balance/channels"), ("GET", "/v1/balance/blockchain")),
        *(("POST", "/v1/invoices"), ("POST", "/v2/invoices/hodl")),
        *(("GET", f"/v1/invoice/{_HASH}"), ("POST", "/v2/router/send")),
        *(("GET", "/v1/payments"), ("POST", "/v1/channels"), ("POST", "/v1/peers")),
        *(("GET", "/v1/newaddress"), ("POST", "/v1/transactions")),
        ("POST", "/v1/signmessage"),
    ),
}
FORBIDDEN = {
    "zeus": [("GET", "/v1/macaroon/ids")],
    "btcpay": [("POST", "/v1/channels/transactions"), ("POST", "/v1/transactions")],
    "lnbits": [("POST", "/v1/transactions"), ("POST", "/v1/channels")],
    "thunderhub": [("GET", "/v1/macaroon/ids")],
    "rtl": [("GET", "/v1/macaroon/ids")],
    "albyhub": [("GET", "/v1/macaroon/ids")],
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def node(platform: RunningPlatform) -> AsyncIterator[Owned]:
    """A node of Alice's that runs."""
    node = await platform.create("recipe light")
    await platform.says(node, "waiting_init")
    await node.init()
    await platform.says(node, "running")
    yield node
    await platform.of(node, "DELETE", "")


async def is_permitted(node: Owned, macaroon: str, method: str, path: str) -> bool:
    """Ask lnd; what it refuses for another reason it had permitted."""
    caller = Owned(node.id, node.endpoint, node.lnd, macaroon)
    try:
        await caller.call(method, path, {} if method == "POST" else None)
    except NodeRefused as refused:
        return "permission denied" not in refused.message
    return True


@pytest.mark.parametrize("app", sorted(CALLS))
async def test_an_app_may_do_what_it_does_and_no_more(node: Owned, app: str) -> None:
    (preset,) = [each.preset for each in RECIPES if each.slug == app]
    macaroon = await recipes.bake(node, preset)
    for method, path in CALLS[app]:
        assert await is_permitted(node, macaroon, method, path), path
    for method, path in FORBIDDEN[app]:
        assert not await is_permitted(node, macaroon, method, path), path


async def test_lncli_curl_and_python_run_as_shown(
    platform: RunningPlatform, node: Owned, tmp_path: Path
) -> None:
    shown = await recipes.texts(platform, node)
    folder = await recipes.folder_of(platform, node, tmp_path / "kept", shown)
    for tool in ("lncli", "curl"):
        body = json.loads(
            await recipes.run(folder, "sh", "-c", f"{shown[tool]} 2>/dev/null")
        )
        assert body["alias"] == "harbour light"
    body = await recipes.run(folder, "python3", "-c", shown["python"])
    assert body == "harbour light\n"


@pytest.mark.long
async def test_javascript_and_go_run_as_shown(
    platform: RunningPlatform, node: Owned, tmp_path: Path
) -> None:
    shown = await recipes.texts(platform, node)
    folder = await recipes.folder_of(platform, node, tmp_path / "kept", shown)
    (folder / "main.go").write_text(f"{shown['go']}\n")
    body = json.loads(await recipes.run(folder, "go", "run", "main.go"))
    assert body["alias"] == "harbour light"
    await recipes.ln_service(folder)
    (folder / "main.mjs").write_text(f"{shown['javascript']}\n")
    body = await recipes.run(folder, "node", "main.mjs")
    assert body == "harbour light\n"
