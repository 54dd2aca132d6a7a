"""The hosted node of a story: made the first time, and used again by later ones.

A node for each story would end at the organization's quota after some of them. What
opens its wallet is in dev.json, with the other secrets of a network that is worth
nothing. Where a story broke off before that was written, its node is deleted.
"""

import base64
import secrets
import ssl
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

from leyden.errors import Refused
from leyden.lnd.rest import WALLET_S
from leyden.nodes.lnd.client import LndClient, connect
from leyden.nodes.lnd.states import TlsAddress
from leyden_workshop.devnet import first_run
from leyden_workshop.devnet.calls import Calls
from leyden_workshop.devnet.waiting import until

_FIELD: Final = "hosted"  # of dev.json: each by its owner and lnd's version
_SETTINGS: Final[dict[str, object]] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "whitelist": ["127.0.0.1"],
    "alias": "first channel",
    "color": "#ff9900",
}
_AT_REST: Final = frozenset({"stopped", "failed"})
_UP: Final = frozenset({"waiting_init", "waiting_unlock", "running"})


class HostedNode:
    """A node of this platform, as its owner sees it."""

    def __init__(
        self, home: Path, call: Calls, version: str, organization_id: str = ""
    ) -> None:
        self._home = home
        self._call = call
        self._version = version
        account = first_run.read(home)
        organization_id = organization_id or account["organization_id"]
        self._nodes = f"/organizations/{organization_id}/nodes"
        self._entry = f"{organization_id} {version}".strip()
        self._gateway = account["gateway"]
        self._tls = ssl.create_default_context(cafile=account["ca_path"])
        self._known: dict[str, str] = account.get(_FIELD, {}).get(self._entry, {})
        self.api_endpoint = ""
        self.macaroon = ""

    @property
    def node_id(self) -> str:
        """Return its id."""
        return self._known["node_id"]

    @property
    def rest(self) -> TlsAddress:
        """Return where its REST is."""
        gateway = self._gateway
        return TlsAddress(gateway["host"], gateway["rest_port"], self.api_endpoint)

    async def open(self) -> None:
        """Bring it up with its wallet open, whatever state it was left in."""
        found = await self._up()
        self.api_endpoint = str(found["api_endpoint"])
        async with connect(self.rest, self._tls) as lnd:
            if found["status"] == "waiting_init":
                await self._make_wallet(lnd)
            elif found["status"] == "waiting_unlock":
                await _open(lnd, "/v1/unlockwallet", self._password)
        await self._becomes({"running"})
        self.macaroon = self._known["macaroon"]

    @property
    def _one(self) -> str:
        return f"{self._nodes}/{self._known['node_id']}"

    @property
    def _password(self) -> dict[str, object]:
        password = self._known["password"].encode()
        return {
            "wallet_password": base64.b64encode(password).decode(),
            "stateless_init": True,
        }

    async def _up(self) -> dict[str, Any]:
        """Return the node of the last story if it can be brought up, or another."""
        if self._known:
            try:
                return await self._started()
            except Refused:
                pass  # somebody has deleted it, or it is on its way out
        await self._make()
        return await self._started()

    async def _started(self) -> dict[str, Any]:
        """Bring it up; its wallet may be locked, or not made yet."""
        found = await self._call("GET", self._one, None)
        if found["status"] in _AT_REST:
            await self._call("POST", f"{self._one}/start", None)
        found = await self._becomes(_UP)
        if found["status"] != "waiting_init" and "macaroon" not in self._known:
            await self._call("DELETE", self._one, None)
            raise Refused("the wallet password of this node is lost")
        return found

    async def _make(self) -> None:
        wish = {
            "name": f"first channel {secrets.token_hex(3)}",
            "network": "testnet",
            "type": "standard",
            "settings": _SETTINGS,
            **({"version": self._version} if self._version else {}),
        }
        made = await self._call("POST", self._nodes, wish)
        self._known = {}
        self._keep(node_id=made["node_id"], password=secrets.token_hex(16))

    async def _make_wallet(self, lnd: LndClient) -> None:
        """Make the node's wallet, statelessly, and keep its macaroon."""
        seed = await lnd.call("GET", "/v1/genseed")
        words = {"cipher_seed_mnemonic": seed["cipher_seed_mnemonic"]}
        made = await _open(lnd, "/v1/initwallet", {**self._password, **words})
        self._keep(macaroon=base64.b64decode(made["admin_macaroon"]).hex())

    async def _becomes(self, wanted: Collection[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}

        async def is_reached() -> bool:
            nonlocal found
            found = await self._call("GET", self._one, None)
            return found["status"] in wanted

        await until(
            is_reached, f"the node did not become {' or '.join(sorted(wanted))}"
        )
        return found

    def _keep(self, **fields: str) -> None:
        self._known = {**self._known, **fields}
        others = first_run.read(self._home).get(_FIELD, {})
        first_run.write(self._home, {_FIELD: {**others, self._entry: self._known}})


async def _open(
    lnd: LndClient, path: str, wish: Mapping[str, object]
) -> dict[str, Any]:
    return await lnd.call("POST", path, wish, timeout_s=WALLET_S)
