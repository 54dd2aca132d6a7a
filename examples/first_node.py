"""Create a node with a wallet and print its public key, with the standard library only.

    eval "$(leyden dev env)"
    python3 examples/first_node.py "harbour light"

Without a name, the node gets one that no other node has. The password and the seed go
directly to the node, over TLS that ends in the node; the platform sees neither.

Don't do this with real money: it prints the password, the seed and a macaroon that may
do anything.
"""

import base64
import http.client
import json
import os
import secrets
import socket
import ssl
import sys
import time
import urllib.error
import urllib.request
from typing import Any

NEEDED = ("URL", "KEY", "ORGANIZATION", "GATEWAY", "CA")
if missing := [name for name in NEEDED if not os.environ.get(f"LEYDEN_{name}")]:
    sys.exit(
        f"LEYDEN_{missing[0]} is not set: while `./leyden up` runs, type this first:\n"
        '    eval "$(./leyden dev env)"'
    )
URL, KEY, ORGANIZATION, GATEWAY, CA = (os.environ[f"LEYDEN_{each}"] for each in NEEDED)
NODES = f"{URL}/organizations/{ORGANIZATION}/nodes"
# Directly: a proxy that the environment names has no part in this.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def platform(url: str, body: object = None) -> Any:
    """Call the platform's API."""
    request = urllib.request.Request(  # noqa: S310  our own URL
        url,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-SERVICE-AUTH": KEY, "Content-Type": "application/json"},
    )
    try:
        with DIRECT.open(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {json.load(error)['message']}")
    except OSError:
        sys.exit(f"{URL} does not respond; start it with `./leyden up`")


def node(endpoint: str, path: str, body: object = None, macaroon: str = "") -> Any:
    """Call the node itself, by its name at the gateway, trusting only its own CA."""
    host, _, port = GATEWAY.rpartition(":")
    trusts = ssl.create_default_context(cafile=CA)
    connection = http.client.HTTPConnection(endpoint)
    connection.sock = trusts.wrap_socket(
        socket.create_connection((host, int(port)), timeout=300),  # a wallet takes long
        server_hostname=endpoint,
    )
    connection.request(
        "GET" if body is None else "POST",
        path,
        None if body is None else json.dumps(body),
        {"Grpc-Metadata-macaroon": macaroon} if macaroon else {},
    )
    return json.loads(connection.getresponse().read())


def until(node_id: str, status: str) -> Any:
    """Wait until the node stands where it should."""
    while (found := platform(f"{NODES}/{node_id}"))["status"] != status:
        time.sleep(0.2)
    return found


def main(name: str) -> None:
    """Make the node."""
    settings = {
        "autopilot": False,
        "grpc": True,
        "rest": True,
        "keysend": True,
        "whitelist": ["127.0.0.1"],
        "alias": name,
        "color": "#ff9900",
    }
    wish = {"name": name, "network": "testnet", "type": "standard"}
    made = platform(NODES, {**wish, "settings": settings})
    found = until(made["node_id"], "waiting_init")
    endpoint = found["api_endpoint"]
    print(f"{endpoint} has no wallet yet")

    password = secrets.token_urlsafe(12)
    seed = node(endpoint, "/v1/genseed")["cipher_seed_mnemonic"]
    wallet = {
        "wallet_password": base64.b64encode(password.encode()).decode(),
        "cipher_seed_mnemonic": seed,
        "stateless_init": True,
    }
    given = node(endpoint, "/v1/initwallet", wallet)["admin_macaroon"]
    macaroon = base64.b64decode(given).hex()
    until(made["node_id"], "running")
    print("With real money, don't print these:")
    print(f"password  {password}\nseed      {' '.join(seed)}\nmacaroon  {macaroon}")

    info = node(endpoint, "/v1/getinfo", macaroon=macaroon)
    print(f"{info['alias']} runs lnd {info['version']}, {info['identity_pubkey']}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or f"light {secrets.token_hex(3)}")
