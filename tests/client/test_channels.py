"""A node's channels, as lnd's REST tells of them."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from leyden.client import channels
from leyden.client.channels import Channel
from leyden.client.lnd import Lnd
from tests.events.webhooks.conftest import Serving

API = "harbour-light.nodes.localhost"
PEER = "02" + "ab" * 32
# As lnd 0.20 says it: numbers are strings, and what is zero or empty is left out.
TOLD = {
    "/v1/getinfo": {"identity_pubkey": PEER},
    "/v1/channels": {
        "channels": [
            {
                "active": True,
                "remote_pubkey": PEER,
                "channel_point": "aa:0",
                "capacity": "1000000",
                "remote_balance": "990000",
            },
            {
                "remote_pubkey": PEER,
                "channel_point": "bb:1",
                "capacity": "500000",
                "local_balance": "400000",
                "remote_balance": "90000",
            },
        ]
    },
    "/v1/channels/pending": {
        "pending_open_channels": [
            {
                "channel": {
                    "remote_node_pub": PEER,
                    "channel_point": "cc:0",
                    "capacity": "200000",
                    "remote_balance": "200000",
                }
            }
        ],
        "waiting_close_channels": [],
    },
    "/v1/balance/blockchain": {"confirmed_balance": "21000"},
}


class _Lnd(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert self.headers["Grpc-Metadata-macaroon"] == "0201"
        body = json.dumps(TOLD[self.path.partition("?")[0]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def lnd(tmp_path: Path) -> Iterator[Lnd]:
    """Somebody who answers as lnd does."""
    authority = Serving(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Lnd)
    server.socket = authority.serving(API).wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        with Lnd(
            f"https://{API}:{server.server_port}",
            trusts=authority.pem,
            connect="127.0.0.1",
            macaroon="0201",
        ) as opened:
            yield opened
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_only_what_is_active_can_pay_and_be_paid(lnd: Lnd) -> None:
    found = channels.look(lnd)
    assert (found.can_pay, found.can_be_paid, found.on_chain) == (0, 990_000, 21_000)
    assert [(each.point, each.stage, each.active) for each in found.channels] == [
        ("aa:0", "open", True),
        ("bb:1", "open", False),
        ("cc:0", "opening", False),
    ]
    assert found.channels[1] == Channel(
        point="bb:1",
        peer=PEER,
        active=False,
        stage="open",
        capacity=500_000,
        local=400_000,
        remote=90_000,
    )


def test_the_address_for_peers_has_the_key_in_front(lnd: Lnd) -> None:
    assert channels.peer_address(lnd, "[2001:db8::1]:21000") == (
        f"{PEER}@[2001:db8::1]:21000"
    )
