"""A node is lost with a channel in it: its seed and its backup bring the coins back."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.pages.wallet import sealing
from tests.programs import needs
from tests.stories.platform import LEYDEN, Owned, RunningPlatform
from tests.stories.test_browser import OTHER, alice, backup, turn_to
from tests.stories.window import Window

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs("chromium", "certutil"),
]

SATS = 2_000_000
THEIRS = 700_000  # pushed to the node's side of it


async def is_paid_into(platform: RunningPlatform, node: Owned) -> None:
    """Have the treasury open a channel to the node, with some of it on its side."""
    treasury = await platform.treasury("GET", "/v1/getinfo")
    port = platform.environment["LEYDEN_DEVNET_TREASURY_PEER_PORT"]
    address = {"pubkey": treasury["identity_pubkey"], "host": f"127.0.0.1:{port}"}
    await node.call("POST", "/v1/peers", {"addr": address, "timeout": "10"})
    key = (await node.call("GET", "/v1/getinfo"))["identity_pubkey"]

    async def is_peer() -> bool:
        peers = (await platform.treasury("GET", "/v1/peers"))["peers"]
        return any(each["pub_key"] == key for each in peers)

    await platform.until("the treasury has its peer", is_peer)
    await platform.treasury(
        "POST",
        "/v1/channels",
        {
            "node_pubkey": base64.b64encode(bytes.fromhex(key)).decode(),
            "local_funding_amount": str(SATS),
            "push_sat": str(THEIRS),
        },
    )
    await platform.run("dev", "mine", "6")

    async def is_open() -> bool:
        channels = (await node.call("GET", "/v1/channels"))["channels"]
        return [int(each["local_balance"]) for each in channels] == [THEIRS]

    await platform.until("the channel is open", is_open)


async def loses_it(window: Window, platform: RunningPlatform, node: Owned) -> Path:
    """Take the backup of the channels home, and delete the node."""
    team, root = platform.facts["organization_id"], platform.facts["dashboard_url"]
    await window.page.goto(f"{root}{team}/nodes/{node.id}/backups")
    async with window.page.expect_download() as download:
        await window.page.get_by_role("link", name="Download").click()
    taken = Path(await (await download.value).path())
    await platform.of(node, "DELETE", "")
    return taken


async def restores(
    window: Window,
    platform: RunningPlatform,
    node: Owned,
    seed: list[str],
    channels: Path,
) -> None:
    """Make the wallet again with a wrong file first: nothing is lost by that."""
    photo = channels.with_name("photo.jpg")
    photo.write_bytes(b"\xff\xd8" + bytes(2_000))
    await turn_to(window, platform, node, "restore")
    await window.type(words=" ".join(seed), password=OTHER, again=OTHER)
    await window.page.set_input_files("#channels", photo)
    # Its coins are in the channel; looking for others takes lnd minutes.
    await window.page.uncheck("#look-back")
    await window.press("Restore")
    await window.see("This channel backup belongs to another seed")
    await window.page.set_input_files("#late", channels)
    await window.press("Recover channels")
    await window.see("The peers of 1 channel are asked to close them")


async def comes_back_later(
    window: Window, platform: RunningPlatform, node: Owned
) -> None:
    """Find the way to bring channels home once there is a wallet, too."""
    await turn_to(window, platform, node, "restore")
    await window.see("This node already has a wallet")
    await window.press("Recover channels")
    await window.type(late_text="bm8gYmFja3Vw", opens=OTHER)
    await window.press("Recover channels")
    await window.see("This channel backup belongs to another seed")


async def types(
    platform: RunningPlatform, folder: Path, file: Path, *, exits: int
) -> str:
    """Bring channels home at the terminal; give what it said."""
    password = folder / "password"
    password.write_text(f"{OTHER}\n")
    command = await asyncio.create_subprocess_exec(
        *(LEYDEN, "wallet", "restore", "raised light", "--channels", file),
        *("--password-file", password),
        env={
            **{name: platform.environment[name] for name in ("PATH", "HOME")},
            "LEYDEN_URL": platform.facts["base_url"],
            "LEYDEN_KEY": platform.facts["api_key"],
            "LEYDEN_CA": platform.facts["ca_path"],
            "LEYDEN_GATEWAY": "{host}:{rest_port}".format(**platform.facts["gateway"]),
            "XDG_CONFIG_HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await command.communicate()
    assert command.returncode == exits, said
    return said.decode()


async def test_a_backup_of_channels_brings_their_coins_back(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    old = await platform.create("sunken light")
    await platform.says(old, "waiting_init")
    await old.init()
    await platform.says(old, "running")
    await is_paid_into(platform, old)
    async with alice(platform, tmp_path / "alice") as window:
        channels = await loses_it(window, platform, old)

        node = await platform.create("raised light")
        await platform.says(node, "waiting_init")
        await restores(window, platform, node, old.seed, channels)
        await comes_back_later(window, platform, node)
        photo = channels.with_name("photo.jpg")
        said = await types(platform, tmp_path, photo, exits=8)
        assert "not a channel backup of this seed" in said
        said = await types(platform, tmp_path, channels, exits=0)
        assert "closing" in said
    node.macaroon = sealing.open_jwe(await backup(platform, node, "admin"), OTHER)

    async def is_home() -> bool:
        await platform.run("dev", "mine", "1")
        coins: dict[str, Any] = await node.call("GET", "/v1/balance/blockchain")
        # Less what the sweep cost, and a little that lnd keeps for its anchors.
        return int(coins["total_balance"]) > THEIRS - 10_000

    await platform.until("the coins are home", is_home, seconds=90)
    pending = await node.call("GET", "/v1/channels/pending")
    assert pending["waiting_close_channels"] == []
    await platform.of(node, "DELETE", "")
