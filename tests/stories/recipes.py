"""What people run who follow a recipe: its text, two files, and a machine that knows
the node's name."""

import asyncio
import os
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

import pytest

from leyden.base.daemons import build
from leyden.base.daemons.build import program_path
from leyden.base.daemons.catalogue import find
from leyden.client.macaroons import PRESETS
from leyden.nodes.pages.recipes import RECIPES
from tests.base.pages.screen import Screen, chromium
from tests.npm import installed
from tests.programs import require
from tests.stories.platform import Owned, RunningPlatform

_LN_SERVICE = Path(__file__).parents[1] / "ln-service-58.1.0"
_RUN_S = 120
# As a machine whose resolver does not know the name is told by its owner.
_WITH_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"'


async def texts(platform: RunningPlatform, node: Owned) -> dict[str, str]:
    """Return the code of each recipe, as the dashboard shows it for this node.

    Where a recipe has a line for /etc/hosts, that is under `hosts-` and its name.
    """
    login = platform.facts["dashboard_login"]
    base = platform.facts["dashboard_url"].removesuffix("/app/")
    team = platform.facts["organization_id"]
    async with chromium() as browser:
        screen = await Screen.opened(await browser.new_context(), base)
        page = screen.page
        await page.goto(f"{base}/app/")
        await page.fill("#email", login["email"])
        await page.fill("#password", login["password"])
        await page.click("form[action='/app/sign-in'] button")
        await page.wait_for_url("**/nodes")
        await screen.go(f"/app/{team}/nodes/{node.id}/wallet/bakery")
        found = {}
        for recipe in RECIPES:
            for key in (recipe.slug, f"hosts-{recipe.slug}"):
                code = page.locator(f"#{key}, #recipe-{key}")
                if await code.count():
                    found[key] = (await code.text_content() or "").strip()
        return found


async def bake(node: Owned, preset: str) -> str:
    """Bake a macaroon as the page does; in hex."""
    allowed = [each.split(":") for each in PRESETS[preset]]
    wish = {
        "permissions": [{"entity": on, "action": to} for on, to in allowed],
        "root_key_id": "1",
    }
    return str((await node.call("POST", "/v1/macaroon", wish))["macaroon"])


async def folder_of(
    platform: RunningPlatform, node: Owned, folder: Path, shown: Mapping[str, str]
) -> Path:
    """Put the files where recipes expect them, and the table of names beside them."""
    folder.mkdir()
    found = await platform.of(node, "GET", "/cert")
    (folder / f"{node.endpoint}.pem").write_bytes(b64decode(found["tls_cert"]))
    for recipe in RECIPES:
        macaroon = bytes.fromhex(await bake(node, recipe.preset))
        (folder / f"{recipe.slug}.macaroon").write_bytes(macaroon)
    (line,) = {text for key, text in shown.items() if key.startswith("hosts-")}
    hosts = f"127.0.0.1 localhost\n{line}\n"
    (folder / "hosts").write_text(hosts)
    return folder


async def run(folder: Path, *command: str | Path) -> str:
    """Run it there, with the node's name in /etc/hosts; give what it printed."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a program another /etc/hosts")
    require("unshare")
    lncli = program_path(build.default_cache(os.environ), *find("lncli")).parent
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--mount", "sh", "-c", _WITH_HOSTS, folder / "hosts"),
        *command,
        cwd=folder,
        env={**os.environ, "PATH": f"{lncli}:{os.environ['PATH']}"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(_RUN_S):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    return output.decode()


async def ln_service(folder: Path) -> None:
    """Install the library where Node looks for it."""
    (folder / "node_modules").symlink_to(await installed(_LN_SERVICE))
