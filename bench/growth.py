"""B8: the cost of a request in a large database, against a small one.

    ./leyden bench growth [ROUNDS]

The same customer asks the same things of an installation with 10 nodes and 100 orders
and of one with 10,000 nodes and 1,000,000 orders, one after the other, each on one
connection. The medians of each turn are compared; and how long a start takes.
"""

import json
import socket
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from bench.contenders import Contender
from bench.crowd import fill
from bench.installation import Customer, prepare, served
from bench.measure import Figures, Report, turns

_NODES = 10_000
_ORDERS = 1_000_000
_OWN_ORDERS = 100
_TIMES = {"list": 300, "get": 300, "quote": 200, "status": 300, "create": 30}
_GOAL = 1.15
_START_GOAL = 1.5


class _Asker:
    """One customer on one connection."""

    def __init__(self, at: Contender, customer: Customer) -> None:
        parts = urlsplit(at.url)
        assert parts.hostname
        assert parts.port
        self._socket = socket.create_connection((parts.hostname, parts.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel = {"capacity": 1_000_000}
        self._requests = {
            "list": _request("GET", customer.nodes, customer),
            "get": _request("GET", f"{customer.nodes}/{customer.node_id}", customer),
            "quote": _request("POST", "/flow/quote", customer, channel),
            "status": _request(
                "POST", "/flow/status", customer, {"order_id": customer.order_id}
            ),
            "create": _request("POST", "/flow/create", customer, channel),
        }

    def median_us(self, what: str) -> float:
        """Repeat a request until its median is steady."""
        request = self._requests[what]
        took = []
        for _ in range(_TIMES[what]):
            began = time.perf_counter()
            self._socket.sendall(request)
            status = self._read()
            took.append(time.perf_counter() - began)
            assert status == b"200", f"{what}: {status!r}"
        return median(took) * 1e6

    def _read(self) -> bytes:
        data = self._socket.recv(65536)
        while b"\r\n\r\n" not in data:
            data += self._socket.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < length:
            body += self._socket.recv(65536)
        return head[9:12]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def main(rounds: int = 10) -> int:
    """Measure and report."""
    sizes = {
        "small": (0, 0),
        "large": (_NODES - 10, _ORDERS - _OWN_ORDERS),
        "small again": (0, 0),
    }
    figures = {what: Figures() for what in (*_TIMES, "start")}
    with ExitStack() as stack:
        folders, customers = {}, {}
        for name, (nodes, orders) in sizes.items():
            folders[name] = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            customers[name] = prepare(folders[name], own_orders=_OWN_ORDERS)
            fill(folders[name], nodes=nodes, orders=orders)
        for name in turns(list(sizes), rounds=6):
            began = time.perf_counter()
            with served(folders[name]):
                figures["start"].add(name, time.perf_counter() - began)
        askers = {
            name: stack.enter_context(
                closing(
                    _Asker(stack.enter_context(served(folders[name])), customers[name])
                )
            )
            for name in sizes
        }
        for name in turns(list(sizes), rounds=rounds):
            for what in _TIMES:
                figures[what].add(name, askers[name].median_us(what))
    report = Report("B8 growth: 10 nodes, 100 orders against 10,000 and 1,000,000")
    for what, of in figures.items():
        unit, scale = ("ms", 1e3) if what == "start" else ("us", 1)
        small, large = (of.median(each) * scale for each in ("small", "large"))
        report.note(f"{what}: {small:.0f} {unit} small, {large:.0f} {unit} large")
        report.null(of.ratio("small again", "small", what=f"{what}: small / small"))
        ratio = of.ratio("large", "small", what=f"{what}: large / small")
        report.at_most(_START_GOAL if what == "start" else _GOAL, ratio)
    return report.end()


def _request(method: str, path: str, customer: Customer, body: object = None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"X-SERVICE-AUTH: {customer.key}",
    ]
    if content:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode() + content


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
