"""The guide to remote signing, played: a node whose keys are in its owner's lnd."""

import asyncio
import base64
import json
import os
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from leyden.errors import Away, NodeAway, NodeRefused
from leyden.lnd.trust import trusting
from leyden.nodes.lnd.client import connect
from leyden.nodes.lnd.states import TlsAddress
from tests.ports import free_port
from tests.stories.platform import LEYDEN, PASSWORD, Owned, RunningPlatform
from tests.stories.test_node_story import has_channel, in_business
from tests.test_docs import ROOT

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="session"),
]

_GUIDE = (ROOT / "docs" / "customers" / "remote-signing.md").read_text()
_EXPORT, _CREATE, _ = re.findall(r"```sh\n(.*?)```", _GUIDE, re.DOTALL)
_CONF = _GUIDE.partition("```text\n")[2].partition("```")[0]


class Signer:
    """The owner's lnd, as the guide configures it, on this machine's chain."""

    def __init__(self, lnd: Path, folder: Path, port: int) -> None:
        self.lnd, self.folder = lnd, folder / "signer"
        self.rest = free_port()
        self.macaroon = ""
        self.folder.mkdir()
        conf = _CONF.replace("mainnet", "simnet").replace("10009", str(port))
        conf = conf.replace("\n\n", f"\nrestlisten=127.0.0.1:{self.rest}\n\n", 1)
        (self.folder / "lnd.conf").write_text(conf)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run it, with its wallet open."""
        process = await asyncio.create_subprocess_exec(
            *(self.lnd, f"--lnddir={self.folder}"),
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            async with asyncio.timeout(60):
                await self._opened()
            yield
        finally:
            process.terminate()
            await process.wait()

    async def _opened(self) -> None:
        while (state := await self._state()) not in {"NON_EXISTING", "LOCKED"}:
            await asyncio.sleep(0.1)
        wish: dict[str, object] = {"wallet_password": PASSWORD}
        if state == "NON_EXISTING":
            seed = await self.call("GET", "/v1/genseed")
            wish["cipher_seed_mnemonic"] = seed["cipher_seed_mnemonic"]
            made = await self.call("POST", "/v1/initwallet", wish)
            self.macaroon = base64.b64decode(made["admin_macaroon"]).hex()
        else:
            await self.call("POST", "/v1/unlockwallet", wish)
        while await self._state() not in {"RPC_ACTIVE", "SERVER_ACTIVE"}:
            await asyncio.sleep(0.1)

    async def _state(self) -> str:
        with suppress(Away, FileNotFoundError, ssl.SSLError):
            return str((await self.call("GET", "/v1/state"))["state"])
        return ""

    async def call(
        self, method: str, path: str, body: Any = None, *, macaroon: str = ""
    ) -> dict[str, Any]:
        tls = trusting((self.folder / "tls.cert").read_text())
        async with connect(TlsAddress("127.0.0.1", self.rest, "localhost"), tls) as lnd:
            return await lnd.call(
                method, path, body, macaroon=macaroon or self.macaroon, timeout_s=60
            )


class Owner:
    """Somebody with a shell, who types what the guide says."""

    def __init__(self, platform: RunningPlatform, folder: Path, lncli: Path) -> None:
        self.folder = folder
        self.environment = {
            "PATH": f"{lncli.parent}:{LEYDEN.parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LEYDEN_URL": platform.facts["base_url"],
            "LEYDEN_KEY": platform.facts["api_key"],
            "LEYDEN_CA": platform.facts["ca_path"],
            "LEYDEN_GATEWAY": "{host}:{rest_port}".format(**platform.facts["gateway"]),
            "LEYDEN_WALLET_PASSWORD": base64.b64decode(PASSWORD).decode(),
        }
        self.port = platform.signer_port

    async def types(self, block: str, *, exits: int = 0) -> str:
        # The guide's names and addresses, on this machine and its private chain.
        signer = f"127.0.0.1:{self.port}"
        for said, here in (
            ("signer.example.org:10009", signer),
            ("--network=mainnet", f"--network=simnet --rpcserver={signer}"),
            ("--network mainnet", "--network testnet"),
            ("203.0.113.7", "127.0.0.1"),
        ):
            block = block.replace(said, here)
        shell = await asyncio.create_subprocess_exec(
            *("bash", "-euc", block),
            cwd=self.folder,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await shell.communicate()
        assert shell.returncode == exits, output.decode()
        return output.decode()

    async def node(self, platform: RunningPlatform) -> Owned:
        """Return the node that the guide creates, with its macaroon from the vault."""
        shown = json.loads(await self.types("leyden nodes show pier --json"))
        node = await platform.found(shown["node_id"])
        node.macaroon = (
            await self.types("leyden wallet show-macaroon pier admin")
        ).strip()
        return node


async def pays(platform: RunningPlatform, node: Owned, sats: int) -> str:
    """Pay an invoice of the treasury; return why it failed, or nothing."""
    bill = await platform.treasury("POST", "/v1/invoices", {"value": str(sats)})
    wish = {"payment_request": bill["payment_request"]}
    paid = await node.call("POST", "/v1/channels/transactions", wish)
    return str(paid["payment_error"])


async def test_a_node_signs_with_its_owners_lnd_and_with_nothing_else(
    platform: RunningPlatform, real_lnd: Path, memory_path: Path
) -> None:
    signer = Signer(real_lnd, memory_path, platform.signer_port)
    owner = Owner(platform, memory_path, real_lnd)
    async with signer.running():
        await owner.types(_EXPORT)
        signing = (memory_path / "signing.macaroon").read_text().strip()
        with pytest.raises(NodeRefused, match="permission denied"):
            wish = {"permissions": [{"entity": "onchain", "action": "write"}]}
            await signer.call("POST", "/v1/macaroon", wish, macaroon=signing)

        create, init = _CREATE.split("leyden wallet init")
        await owner.types(create)
        assert "--watch-only" in await owner.types("leyden wallet init pier", exits=5)
        await owner.types(f"leyden wallet init{init}")
        node = await owner.node(platform)

        accounts = (await node.call("GET", "/v2/wallet/accounts"))["accounts"]
        assert accounts
        assert all(each["watch_only"] for each in accounts)
        mine = await signer.call("GET", "/v2/wallet/accounts")
        assert {each["extended_public_key"] for each in accounts} <= {
            each["extended_public_key"] for each in mine["accounts"]
        }

        await in_business(platform, node)
        assert await pays(platform, node, 2_100) == ""
        ours = await node.call("POST", "/v1/invoices", {"value": "700"})
        wish = {"payment_request": ours["payment_request"]}
        sent = await platform.treasury("POST", "/v1/channels/transactions", wish)
        assert sent["payment_error"] == ""

    # At the first signature without the signer, lnd ends. It is started again, locked.
    with pytest.raises((NodeAway, NodeRefused)):
        await node.call("POST", "/v1/signmessage", {"msg": PASSWORD})
    await platform.says(node, "waiting_unlock")
    # Unlocked without the signer, it ends once more.
    with suppress(NodeAway):
        await node.unlock()
    await platform.says(node, "stopped")
    await platform.says(node, "waiting_unlock")

    async with signer.running():
        await owner.types("leyden wallet unlock pier")
        await platform.until("the channel is back", lambda: has_channel(node))
        assert await pays(platform, node, 300) == ""
    await platform.of(node, "DELETE", "")
