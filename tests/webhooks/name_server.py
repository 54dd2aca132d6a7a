"""A name server with bad days: real datagrams, some of which are never answered."""

import contextlib
import heapq
import select
import socket
import struct
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

HOST = "127.0.0.53"
_A = 1
_HEAD = struct.Struct("!6H")
_RECORD = struct.Struct("!HHHIH")


class NameServer:
    """Answers `address` for every name, from a thread of its own.

    Names that begin with `dead` get no answer, however often they are asked for; those
    that begin with `slow` get theirs `slow_s` after they were first asked for, as from
    a resolver that has to go and look; those that begin with `no` do not exist.
    """

    def __init__(self, address: str = "127.0.0.1", *, slow_s: float = 1.0) -> None:
        self.asked: Counter[str] = Counter()
        self._address = socket.inet_aton(address)
        self._slow_s = slow_s
        self._first: dict[str, float] = {}
        self._later: list[tuple[float, bytes, tuple[str, int]]] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        self._ending, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.close()
        self._thread.join(5)
        self._socket.close()
        self._ending.close()

    def _serve(self) -> None:
        while True:
            wait = max(0.0, self._later[0][0] - time.monotonic()) if self._later else 1
            readable, _, _ = select.select([self._socket, self._ending], [], [], wait)
            if self._ending in readable:
                return
            while self._later and self._later[0][0] <= time.monotonic():
                _, answer, asker = heapq.heappop(self._later)
                self._say(answer, asker)
            if self._socket in readable:
                self._answer(*self._socket.recvfrom(4096))

    def _answer(self, question: bytes, asker: tuple[str, int]) -> None:
        name, end = _name(question)
        kind = int.from_bytes(question[end : end + 2])
        if kind == _A:
            self.asked[name] += 1
        if name.startswith("dead"):
            return
        first = self._first.setdefault(name, time.monotonic())
        answer = self._written(question, name, kind, end + 4)
        if name.startswith("slow"):
            heapq.heappush(self._later, (first + self._slow_s, answer, asker))
        else:
            self._say(answer, asker)

    def _written(self, question: bytes, name: str, kind: int, end: int) -> bytes:
        there = kind == _A and not name.startswith("no")
        flags = 0x8183 if name.startswith("no") else 0x8180
        number = int.from_bytes(question[:2])
        answer = _HEAD.pack(number, flags, 1, there, 0, 0) + question[12:end]
        if there:
            answer += _RECORD.pack(0xC00C, _A, 1, 0, 4) + self._address
        return answer

    def _say(self, answer: bytes, asker: tuple[str, int]) -> None:
        with contextlib.suppress(OSError):  # whoever asked has gone
            self._socket.sendto(answer, asker)


def _name(question: bytes) -> tuple[str, int]:
    """Read the name that is asked for, and where it ends."""
    at, labels = 12, []
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1
