"""Whoever a node belongs to: calls its REST, past the platform."""

import base64
from typing import Any

import aiohttp

from leyden.lnd.trust import trusting
from leyden.nodes.rules.nodes import Node
from tests.authority import Authority


class Owner:
    """Calls nodes with the macaroons of the wallets that were made here."""

    def __init__(self, authority: Authority, rest_port: int) -> None:
        self._authority = authority
        self._rest_port = rest_port
        self._macaroons: dict[str, str] = {}

    async def call(
        self, node: Node, method: str, path: str, body: object = None
    ) -> dict[str, Any]:
        macaroon = self._macaroons.get(node.id)
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                method,
                f"https://{node.host}:{self._rest_port}{path}",
                json=body,
                ssl=trusting(self._authority.pem),
                server_hostname=node.api_endpoint,
                headers={"Grpc-Metadata-macaroon": macaroon} if macaroon else {},
            ) as answer,
        ):
            assert answer.status == 200, await answer.text()
            content: dict[str, Any] = await answer.json()
            return content

    async def make_wallet(self, node: Node) -> None:
        """Make the node's wallet."""
        password = "aGFyYm91ciBsaWdodA=="
        seed = await self.call(node, "GET", "/v1/genseed")
        made = await self.call(
            node,
            "POST",
            "/v1/initwallet",
            {
                "wallet_password": password,
                "cipher_seed_mnemonic": seed["cipher_seed_mnemonic"],
                "stateless_init": True,
            },
        )
        self._macaroons[node.id] = base64.b64decode(made["admin_macaroon"]).hex()
