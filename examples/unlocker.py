#!/usr/bin/env python3
"""Unlock one node when its webhook says that the wallet is locked: minimal, but safe.

    NODE_API=harbour-light.nodes.example.org CA_FILE=ca.pem \
    SECRET_FILE=secret PASSWORD_FILE=password examples/unlocker.py

`leyden unlocker` does the same for many nodes, verifies signatures and retries.
"""

import base64
import hmac
import json
import os
import ssl
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NEEDED = ("NODE_API", "CA_FILE", "SECRET_FILE", "PASSWORD_FILE")
if missing := [name for name in NEEDED if not os.environ.get(name)]:
    sys.exit(f"{missing[0]} is not set; this file begins with how to call it")
API = os.environ["NODE_API"]
GATEWAY = os.environ.get("LEYDEN_GATEWAY", "gateway:8080")  # the port of all nodes
NODE = f"https://{API}:{GATEWAY.rpartition(':')[2]}"
SECRET = Path(os.environ["SECRET_FILE"]).read_text().strip()
PASSWORD = Path(os.environ["PASSWORD_FILE"]).read_text().removesuffix("\n")
TLS = ssl.create_default_context(cafile=os.environ["CA_FILE"])  # and nobody else
DIRECT = urllib.request.build_opener(  # no proxy has a part in this
    urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=TLS)
)


def unlock() -> int:
    """Unlock the wallet; lnd answers once it is open."""
    wanted = {
        "wallet_password": base64.b64encode(PASSWORD.encode()).decode(),
        "stateless_init": True,  # or lnd leaves its macaroons on the platform's disk
    }
    request = urllib.request.Request(  # noqa: S310  https, see NODE
        f"{NODE}/v1/unlockwallet", json.dumps(wanted).encode(), method="POST"
    )
    try:
        with DIRECT.open(request, timeout=60) as answer:
            print(f"{API}: unlocked", flush=True)
            return int(answer.status)
    except OSError as error:
        print(f"{API}: not unlocked: {error}", flush=True)
        return 503  # the platform sends the event again later


class Receiver(BaseHTTPRequestHandler):
    """Takes events; the two checks come before anything else is believed."""

    def do_POST(self) -> None:
        """Unlock the node if it is the one, and asks for it."""
        body = self.rfile.read(min(int(self.headers["Content-Length"] or 0), 65_536))
        given = self.headers.get("Service-Secret", "").encode()
        event = json.loads(body) if hmac.compare_digest(given, SECRET.encode()) else {}
        if event.get("api") != API:
            self.send_error(403)
            return
        waits = event["details"].get("status") == "waiting_unlock"
        self.send_response(unlock() if event["type"] == "status" and waits else 200)
        self.end_headers()


if __name__ == "__main__":
    server = ThreadingHTTPServer(
        ("127.0.0.1", int(os.environ.get("PORT", "9911"))), Receiver
    )
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
