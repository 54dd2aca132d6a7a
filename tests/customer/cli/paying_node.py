"""A node that pays and is paid: lnd's REST over TLS of its own, without any lnd."""

import base64
import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from tests.events.webhooks.conftest import Serving

HASH = "5a" * 32
POINT = f"{'ab' * 32}:1"
PEER = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
# lnd's words, as versions 0.20 and 0.21 have them.
OTHER_NETWORK = "invoice not for current active network 'simnet'"
OTHER_CHAIN = "address is not for simnet"
LOCKED = "wallet locked, unlock it to enable full RPC access"
UNKNOWN = "payment isn't initiated"
_NEVER = {"code": 5, "message": UNKNOWN}


class PayingNode:
    """Answers what commands ask, and remembers what it was asked to do."""

    def __init__(self, authority: Serving, *, api: str) -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.macaroons: set[str] = set()
        self.invoices: dict[str, dict[str, Any]] = {}
        self.payments: dict[str, str] = {}  # by hash
        self.outcome = "SUCCEEDED"  # of payments; "hangs", "drops", "locks" or "loses"
        self.is_locked = False
        self.transactions: list[dict[str, Any]] = []
        self.drops: set[str] = set()  # paths that are done, and not answered
        self.defers: set[str] = set()  # paths that are posted to, and done much later
        self.refuses: dict[str, dict[str, Any]] = {}  # with this, by path
        self.answers: dict[str, Any] = {
            "/v1/balance/channels": {
                "local_balance": {"sat": "100000", "msat": "100000000"}
            },
            "/v1/channels": {"channels": [channel()]},
            "/v1/channels/pending": {"pending_open_channels": []},
        }
        self._ended = threading.Event()
        node = self

        class Lnd(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                node.answer(self, "GET", None)

            def do_DELETE(self) -> None:
                node.answer(self, "DELETE", None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                node.answer(self, "POST", json.loads(body))

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
        self._ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def asks(self, name: str, msat: int = 5_000_000, **changes: Any) -> str:
        """Let a stranger's invoice ask for this much."""
        self.invoices[name] = {
            "payment_hash": HASH,
            "destination": PEER,
            "num_msat": str(msat),
            "description": "two coffees",
            "timestamp": str(int(time.time())),
            "expiry": "3600",
            **changes,
        }
        return name

    def done(self, path: str) -> list[Any]:
        """Return what was asked of a path that begins so."""
        return [body for _, asked, body in self.asked if asked.startswith(path)]

    def answer(self, request: BaseHTTPRequestHandler, method: str, body: Any) -> None:
        path = urlsplit(request.path).path
        self.asked.append((method, request.path, body))
        self.macaroons.add(request.headers.get("Grpc-Metadata-macaroon", ""))
        if self.is_locked:
            say(request, 500, {"code": 2, "message": LOCKED})
            return
        if method == "POST" and path in self.defers:
            request.close_connection = True
            return
        status, *lines = self._lines(path, request.path, body)
        if path in self.drops:
            request.close_connection = True
            return
        say(request, status, *lines)
        if path == "/v2/router/send" and self.outcome in {"drops", "locks"}:
            self.is_locked = self.outcome == "locks"
        elif lines and lines[-1].get("result", {}).get("status") == "IN_FLIGHT":
            self._ended.wait(20)  # until the client has had enough

    def _lines(self, path: str, whole: str, body: Any) -> list[Any]:
        specials: dict[str, Callable[[], list[Any]]] = {
            "/v2/router/send": lambda: self._pay(body),
            "/v1/transactions": lambda: self._transaction(body),
            "/v1/transactions/fee": lambda: (
                refusal(OTHER_CHAIN)
                if "bc1qharbour" in whole
                else [200, {"fee_sat": "282", "sat_per_vbyte": "2"}]
            ),
            "/v1/invoices": lambda: self._invoice(body),
            "/v1/macaroon/ids": lambda: [200, {"root_key_ids": ["0", "1"]}],
            "/v1/macaroon": lambda: [200, {"macaroon": MACAROON}],
            "/v1/newaddress": lambda: [200, {"address": "sb1pharbour"}],
        }
        if path in self.refuses:
            return [400, self.refuses[path]]
        if path in specials:
            return specials[path]()
        if path.startswith("/v1/payreq/"):
            found = self.invoices.get(path.rpartition("/")[2])
            return [200, found] if found else refusal(OTHER_NETWORK)
        if path.startswith("/v2/router/track/"):
            status = self.payments.get(HASH)
            return [200, update(status)] if status else [404, {"error": _NEVER}]
        return [200, self.answers.get(path, {})]

    def _pay(self, body: dict[str, Any]) -> list[Any]:
        del body
        status = {
            **dict.fromkeys(("hangs", "locks", "loses"), "IN_FLIGHT"),
            "drops": "SUCCEEDED",
        }
        self.payments[HASH] = status.get(self.outcome, self.outcome)
        if self.outcome in {"drops", "locks", "loses"}:
            return [200]  # the connection ends without an update
        return [200, update(self.payments[HASH])]

    def _transaction(self, body: dict[str, Any] | None) -> list[Any]:
        if body is None:
            return [200, {"transactions": self.transactions}]
        self.transactions.append({"tx_hash": "cd" * 32, "label": body["label"]})
        return [200, {"txid": "cd" * 32}]

    def _invoice(self, body: dict[str, Any] | None) -> list[Any]:
        if body is None:
            return [200, self.answers.get("/v1/invoices", {})]
        hints: list[Any] = [{"hop_hints": []}] if body.get("private") else []
        name = self.asks("lnsb1own", route_hints=hints)
        made = base64.b64encode(bytes.fromhex(HASH)).decode()
        return [200, {"payment_request": name, "r_hash": made}]


MACAROON = "0201036c6e6402030312000000" + "0620" + "00" * 32


def channel(**changes: Any) -> dict[str, Any]:
    return {
        "channel_point": POINT,
        "chan_id": "123456789",
        "remote_pubkey": PEER,
        "active": True,
        "private": True,
        "capacity": "200000",
        "local_balance": "100000",
        "remote_balance": "90000",
        "commit_fee": "2810",
        "initiator": True,
        "local_constraints": {"csv_delay": 288},
        **changes,
    }


def update(status: str) -> dict[str, Any]:
    reason = "FAILURE_REASON_NO_ROUTE" if status == "FAILED" else "FAILURE_REASON_NONE"
    return {
        "result": {
            "payment_hash": HASH,
            "status": status,
            "value_sat": "5000",
            "fee_msat": "1500",
            "payment_preimage": "77" * 32,
            "failure_reason": reason,
        }
    }


def refusal(message: str) -> list[Any]:
    return [500, {"code": 2, "message": message, "details": []}]


def say(request: BaseHTTPRequestHandler, status: int, *lines: dict[str, Any]) -> None:
    """Answer as lnd does, with one line of JSON for each update."""
    request.send_response(status)
    request.send_header("Transfer-Encoding", "chunked")
    request.send_header("Connection", "close")
    request.end_headers()
    for line in lines:
        content = json.dumps(line).encode() + b"\n"
        request.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        request.wfile.flush()
    request.close_connection = True
    if not lines or lines[-1].get("result", {}).get("status") != "IN_FLIGHT":
        request.wfile.write(b"0\r\n\r\n" if lines else b"")
