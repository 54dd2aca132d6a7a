"""Attacks by one customer, within the limits of an installation.

    python -m bench.attacks NAME SECONDS < customer.json

does it from a process of its own, as politely as the operating system can be asked to,
and prints how often it was answered what.
"""

import asyncio
import base64
import json
import os
import random
import ssl
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import uvloop
from bench.town import SETTINGS, Caller

from leyden.base.processes import set_niceness

_CALLERS = 8
# Another address of this machine than the victim's: who floods does so from its own.
NEIGHBOUR = "127.66.6.9"
STRANGER = "127.66.6.10"  # on nobody's whitelist
_MAX_HELD = 100  # by each caller, of what an address may have
_ENDS_WITHIN_S = 5
_ALICE = random.Random(14)  # noqa: S311  the same at every run


@dataclass
class Customer:
    """An organization, with all that it can attack with."""

    api_port: int
    gateway_port: int
    organization_id: str
    keys: list[str]
    node_id: str  # with a webhook of its own
    endpoint: str  # of the same one
    peer_port: int  # of the same one
    locked: str  # the endpoint of a node whose wallet is locked
    restored: str  # the id of a node that may be deleted and restored
    authority: str  # a file
    slow_names: str  # below which no name is ever answered for; empty is none
    most_nodes: int
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def nodes(self) -> str:
        """The path of the customer's nodes."""
        return f"/organizations/{self.organization_id}/nodes"

    @property
    def node(self) -> str:
        """The path of the one there always is."""
        return f"{self.nodes}/{self.node_id}"

    async def ask(
        self, caller: Caller, method: str, path: str, body: object = None
    ) -> tuple[int, Any]:
        """Send a request with any of the keys, and count the response."""
        try:
            async with asyncio.timeout(60):
                answer = await caller.call(method, path, body, _ALICE.choice(self.keys))
        except (OSError, EOFError, TimeoutError):
            caller.close()
            self.count("none")
            await asyncio.sleep(0.05)
            return 0, {}
        self.count(str(answer[0]))
        if answer[0] == 429:
            await asyncio.sleep(0.02)
        return answer

    def count(self, answer: str) -> None:
        """Count the responses to an attack."""
        attack = asyncio.current_task()
        assert attack is not None
        self.answers[f"{attack.get_name()} {answer}"] += 1

    def api(self) -> Caller:
        """Open a connection to the API."""
        return Caller("127.0.0.1", self.api_port)


def _integer(number: int) -> bytes:
    return _der(2, number.to_bytes(number.bit_length() // 8 + 1))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = size.to_bytes((size.bit_length() + 7) // 8)
    head = bytes([size]) if size < 0x80 else bytes([0x80 | len(length)]) + length
    return bytes([tag]) + head + content


def _mersenne(first: int, second: int) -> str:
    """Write an RSA key of two Mersenne primes."""
    p, q, e = 2**first - 1, 2**second - 1, 65_537
    d = pow(e, -1, (p - 1) * (q - 1))
    numbers = (0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    der = _der(0x30, b"".join(map(_integer, numbers)))
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN RSA PRIVATE KEY-----\n{text}-----END RSA PRIVATE KEY-----\n"


async def keys(customer: Customer) -> None:
    """Upload RSA keys of 8,676 bits, and large bodies of nothing."""
    caller, key = customer.api(), _mersenne(4_423, 4_253)
    _, shown = await customer.ask(caller, "GET", f"{customer.node}/cert")
    chain = base64.b64decode(shown.get("tls_cert", "")).decode()
    while True:
        body = {"certificate": chain, "key": key}
        await customer.ask(caller, "POST", f"{customer.node}/tls", body)
        await customer.ask(caller, "POST", customer.nodes, [0] * 85_000)


async def ciphertext(customer: Customer) -> None:
    """Upload the ciphertext that takes the longest to parse."""
    caller, value = customer.api(), _ALICE.randbytes(8_300)
    for _ in range(3):
        value = base64.b85encode(value)
    body = {"macaroon": value[:16_384].decode(), "name": "worst"}
    while True:
        await customer.ask(caller, "POST", f"{customer.node}/macaroon", body)


async def backups(customer: Customer) -> None:
    """Replace backups, as many and as large as a body may hold."""
    caller, digest = customer.api(), "0" * 64
    value = base64.b64encode(_ALICE.randbytes(12_000)).decode()
    body = {
        "macaroons": [
            {"macaroon": value, "name": f"worst {number}", "replaces": digest}
            for number in range(15)
        ]
    }
    while True:
        await customer.ask(caller, "POST", f"{customer.node}/reseal", body)


async def orders(customer: Customer) -> None:
    """Order channels, and pay for none."""
    caller = customer.api()
    while True:
        wish = {"capacity": 100_000 * _ALICE.randrange(1, 100)}
        await customer.ask(caller, "POST", "/flow/create", wish)


async def creates(customer: Customer) -> None:
    """Create nodes up to the quota, then ask for more and more."""
    caller, made = customer.api(), 0
    while True:
        if made < customer.most_nodes // _CALLERS + 1:
            wish = {
                "name": f"storm {_ALICE.randrange(10**9)}",
                "network": "testnet",
                "type": "standard",
                "settings": SETTINGS,
            }
            status, _ = await customer.ask(caller, "POST", customer.nodes, wish)
            made += status == 200
            if status == 409:
                await asyncio.sleep(0.02)
        else:
            await customer.ask(caller, "POST", customer.nodes, {})


async def names(customer: Customer) -> None:
    """Have webhooks sent to names that nobody answers for."""
    caller = customer.api()
    while True:
        host = f"n{_ALICE.randrange(10**9)}.{customer.slow_names or 'invalid'}"
        url = {"webhook": f"https://{host}/"}
        await customer.ask(caller, "POST", f"{customer.node}/settings", url)
        await customer.ask(caller, "POST", f"{customer.node}/webhooks/test")


async def webhooks(customer: Customer) -> None:
    """Have events sent, and sent again."""
    caller = customer.api()
    while True:
        await customer.ask(caller, "POST", f"{customer.node}/webhooks/test")
        path = f"{customer.node}/webhooks/deliveries"
        _, page = await customer.ask(caller, "GET", path)
        for each in page.get("deliveries", [])[:5]:
            again = f"{path}/{each['delivery_id']}/redeliver"
            await customer.ask(caller, "POST", again)


async def unlocks(customer: Customer) -> None:
    """Guess at the password of one's own wallet, through the gateway."""
    trusts = ssl.create_default_context(cafile=customer.authority)
    port, name = customer.gateway_port, customer.locked
    door = Caller("127.0.0.1", port, tls=trusts, name=name)
    while True:
        guess = base64.b64encode(_ALICE.randbytes(12)).decode()
        body = {"wallet_password": guess}
        await customer.ask(door, "POST", "/v1/unlockwallet", body)


async def restores(customer: Customer) -> None:
    """Delete a node, restore it and start it, again and again."""
    caller, node = customer.api(), f"{customer.nodes}/{customer.restored}"
    while True:
        await customer.ask(caller, "DELETE", node)
        await customer.ask(caller, "POST", f"{node}/restore")
        await customer.ask(caller, "POST", f"{node}/start")


async def connections(customer: Customer) -> None:
    """Open connections to one's own node through the gateway, and hold them."""
    await _flood(customer, customer.gateway_port, source=NEIGHBOUR)


async def strangers(customer: Customer) -> None:
    """Knock at a node from an address that is not allowed to reach it."""
    await _flood(customer, customer.gateway_port, source=STRANGER)


async def peers(customer: Customer) -> None:
    """Open connections to the peer port of one's own node, and hold them."""
    await _flood(customer, customer.peer_port, source=STRANGER, tls=False)


async def _flood(
    customer: Customer, port: int, *, source: str, tls: bool = True
) -> None:
    trusts = ssl.create_default_context(cafile=customer.authority) if tls else None
    held: list[asyncio.StreamWriter] = []
    while True:
        try:
            async with asyncio.timeout(_ENDS_WITHIN_S):
                _, writer = await asyncio.open_connection(
                    *("127.0.0.1", port),
                    ssl=trusts,
                    server_hostname=customer.endpoint if tls else None,
                    local_addr=(source, 0),
                )
        except (OSError, TimeoutError):
            customer.count("refused")
            await asyncio.sleep(0.02)
        else:
            customer.count("held")
            held.append(writer)
        if len(held) > _MAX_HELD or (held and held[0].is_closing()):
            held.pop(0).transport.abort()


async def listing(customer: Customer) -> None:
    """List all there is, as fast as it comes."""
    caller = customer.api()
    paths = (customer.nodes, customer.node, f"{customer.node}/logs", "/flow/orders")
    while True:
        await customer.ask(caller, "GET", _ALICE.choice(paths))


Attack = Callable[[Customer], Coroutine[Any, Any, None]]
ATTACKS: dict[str, Attack] = {
    "keys": keys,
    "ciphertext": ciphertext,
    "backups": backups,
    "orders": orders,
    "creates": creates,
    "names": names,
    "webhooks": webhooks,
    "unlocks": unlocks,
    "listing": listing,
    "restores": restores,
    "connections": connections,
    "strangers": strangers,
    "peers": peers,
}
EVERYTHING = "everything"


async def main(name: str, seconds: float) -> None:
    """Attack for so long, by eight callers, or by eight of everything."""
    customer = Customer(**json.load(sys.stdin))
    tasks = [
        asyncio.create_task(ATTACKS[each](customer), name=each)
        for each in (ATTACKS if name == EVERYTHING else [name])
        for _ in range(_CALLERS)
    ]
    began = time.monotonic()
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        if task.done():
            task.result()  # which raises: none of them ends by itself
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    expected = {
        "seconds": time.monotonic() - began,
        "cpu_s": time.process_time(),
        "answers": customer.answers,
    }
    print(json.dumps(expected), flush=True)


if __name__ == "__main__":
    set_niceness(os.getpid(), 19)  # it stands for machines elsewhere
    uvloop.run(main(sys.argv[1], float(sys.argv[2])))
