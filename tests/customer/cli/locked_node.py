"""A node that waits to be unlocked: what lnd's REST says then, over TLS of its own."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from tests.events.webhooks.conftest import Serving

API = "harbour-light.nodes.localhost"
PASSWORD = "a lamp in every window"


class LockedNode:
    """Unlocks with the right password, and remembers what it was asked."""

    def __init__(
        self,
        authority: Serving,
        *,
        api: str = API,
        state: str = "LOCKED",
        away_for: int = 0,
    ) -> None:
        self.api = api
        self.state = state
        self.away_for = away_for  # so many requests are dropped without an answer
        self.unlocks: list[dict[str, Any]] = []
        self.at_once = 0
        self.max_at_once = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.ca_file: Path = authority.ca_file
        node = self

        class Lnd(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not node.drops(self):
                    node.say(self, 200, {"state": node.state})

            def do_POST(self) -> None:
                if not node.drops(self):
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    node.unlock(self, json.loads(body))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Lnd)
        self._server.socket = authority.serving(api).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def drops(self, request: BaseHTTPRequestHandler) -> bool:
        if self.away_for > 0:
            self.away_for -= 1
            request.close_connection = True
            return True
        return False

    def unlock(self, request: BaseHTTPRequestHandler, wanted: dict[str, Any]) -> None:
        self.unlocks.append(wanted)
        self.at_once += 1
        self.max_at_once = max(self.max_at_once, self.at_once)
        self.may_answer.wait(10)
        self.at_once -= 1
        if request.path != "/v1/unlockwallet":
            self.say(request, 404, {"code": 5, "message": "Not Found"})
        elif self.state != "LOCKED":
            gone = (
                "wallet already unlocked, WalletUnlocker service is no longer available"
            )
            self.say(request, 500, {"code": 2, "message": gone})
        elif base64.b64decode(wanted["wallet_password"]) != PASSWORD.encode():
            wrong = "invalid passphrase for master public key"
            self.say(request, 500, {"code": 2, "message": wrong})
        else:
            self.state = "RPC_ACTIVE"
            self.say(request, 200, {})

    def say(
        self, request: BaseHTTPRequestHandler, status: int, words: dict[str, Any]
    ) -> None:
        body = json.dumps(words).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
