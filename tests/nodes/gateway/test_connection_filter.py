"""The filter that counts, without Envoy: every address and every corner of it."""

import struct
from collections import Counter
from collections.abc import Callable

import pytest
from wasmtime import Engine, Func, FuncType, Linker, Memory, Module, Store, ValType

from tests.nodes.gateway.connection_limits import FILTER

PER_SOURCE = 3
PER_NODE = 5
PER_SECOND = 4
AHEAD_S = 10
LATEST = 2**16


class Host:
    """What the filter asks of Envoy, and the callbacks that Envoy makes."""

    def __init__(self, per_second: int = 0) -> None:
        self.now_s = 1_800_000_000.0
        self._limits = struct.pack("<III", PER_SOURCE, PER_NODE, per_second)
        self.gauges: list[str] = []
        self.values: Counter[str] = Counter()
        self._texts = {
            b"source\0address": b"",
            b"connection\0requested_server_name": b"",
            b"destination\0port": b"",
        }
        self._connections: dict[int, tuple[bytes, bytes, bytes]] = {}
        self._store = Store(Engine())
        i32, i64 = ValType.i32(), ValType.i64()
        store = self._store
        calls: dict[str, tuple[list[ValType], Callable[..., int]]] = {
            "proxy_get_property": ([i32] * 4, self._property),
            "proxy_get_buffer_bytes": ([i32] * 5, self._buffer),
            "proxy_define_metric": ([i32] * 4, self._define),
            "proxy_increment_metric": ([i32, i64], self._increment),
            "proxy_get_metric": ([i32] * 2, self._read),
            "proxy_record_metric": ([i32, i64], self._record),
            "proxy_get_current_time_nanoseconds": ([i32], self._time),
            "proxy_close_stream": ([i32], self._close),
        }
        linker = Linker(store.engine)
        for name, (takes, call) in calls.items():
            function = Func(store, FuncType(takes, [i32]), call)
            linker.define(store, "env", name, function)
        module = Module(store.engine, FILTER.read_bytes())
        instance = linker.instantiate(store, module)
        self._exports = instance.exports(store)
        memory = self._exports["memory"]
        assert isinstance(memory, Memory)
        self._memory = memory

    def start(self) -> bool:
        return bool(self._run("proxy_on_vm_start", 1, 12))

    def connect(self, context: int, address: str, name: str, port: int = 1) -> bool:
        """Begin a connection; tell whether it may go on."""
        to = struct.pack("<q", port)
        self._connections[context] = (address.encode(), name.encode(), to)
        self._look_at(context)
        return not self._run("proxy_on_new_connection", context)

    def end(self, context: int) -> None:
        self._look_at(context)
        self._run("proxy_on_downstream_connection_close", context, 1)
        del self._connections[context]

    def _look_at(self, context: int) -> None:
        address, name, port = self._connections[context]
        self._texts = {
            b"source\0address": address,
            b"connection\0requested_server_name": name,
            b"destination\0port": port,
        }

    def _run(self, name: str, *words: int) -> int:
        function = self._exports[name]
        assert isinstance(function, Func)
        result = function(self._store, *words)
        return result if isinstance(result, int) else 0

    def _get(self, at: int, size: int) -> bytes:
        return bytes(self._memory.read(self._store, at, at + size))

    def _put(self, at: int, value: bytes) -> None:
        self._memory.write(self._store, value, at)

    def _give(self, value: bytes, where: int, size: int) -> int:
        at = self._run("proxy_on_memory_allocate", len(value))
        self._put(at, value)
        self._put(where, struct.pack("<I", at))
        self._put(size, struct.pack("<I", len(value)))
        return 0

    def _property(self, path: int, length: int, where: int, size: int) -> int:
        return self._give(self._texts[self._get(path, length)], where, size)

    def _buffer(self, kind: int, start: int, length: int, where: int, size: int) -> int:
        assert (kind, start, length) == (6, 0, 12)
        return self._give(self._limits, where, size)

    def _define(self, kind: int, name: int, length: int, number: int) -> int:
        assert kind == 1
        self.gauges.append(self._get(name, length).decode())
        self._put(number, struct.pack("<I", len(self.gauges) - 1))
        return 0

    def _increment(self, number: int, delta: int) -> int:
        self.values[self.gauges[number]] += delta
        return 0

    def _read(self, number: int, where: int) -> int:
        self._put(where, struct.pack("<q", self.values[self.gauges[number]]))
        return 0

    def _record(self, number: int, value: int) -> int:
        self.values[self.gauges[number]] = value
        return 0

    def _time(self, where: int) -> int:
        self._put(where, struct.pack("<Q", int(self.now_s * 1e9)))
        return 0

    def _close(self, stream: int) -> int:
        assert stream == 2
        return 0


@pytest.fixture
def host() -> Host:
    made = Host()
    assert made.start()
    return made


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1:1", "192.0.2.1:60000", True),
        ("192.0.2.1:1", "192.0.2.2:1", False),
        ("[2001:db8:1:2:3:4:5:6]:1", "[2001:db8:1:2:ffff::]:1", True),
        ("[2001:db8:1:2:3:4:5:6]:1", "[2001:db8:1:3:3:4:5:6]:1", False),
        ("[2001:db8::1]:1", "[2001:db8::2]:443", True),
        ("[2001:db8::1]:1", "[2001:db9::1]:1", False),
        ("[2001:db8:1:2::1]:1", "[2001:db8:1:2:7::1]:1", True),
        ("[::1]:1", "[::1]:2", True),
        ("", "", True),
    ],
)
def test_what_is_one_source(host: Host, one: str, other: str, same: bool) -> None:  # noqa: FBT001
    host.connect(1, one, "harbour.nodes.test")
    host.connect(2, other, "harbour.nodes.test")
    sources = [gauge for gauge in host.gauges if gauge.startswith("s")]
    assert (len(sources) == 1) is same


def test_the_end_of_a_long_connection_is_still_counted(host: Host) -> None:
    """Another one has taken its place in the list of the latest."""
    host.connect(1, "192.0.2.1:1", "harbour.nodes.test")
    host.connect(1 + LATEST, "192.0.2.2:1", "lighthouse.nodes.test")
    host.end(1)
    assert sorted(host.values.values()) == [0, 0, 1, 1]
    host.end(1 + LATEST)
    assert set(host.values.values()) == {0}


def test_gauges_have_names_of_their_own_and_are_defined_once(host: Host) -> None:
    number = 0
    for third in range(4):
        for fourth in range(250):
            number += 1
            name = f"node{number}.nodes.test"
            assert host.connect(number, f"198.51.{third}.{fourth}:1", name)
    assert len(set(host.gauges)) == len(host.gauges)
    assert all(len(gauge) == 6 for gauge in host.gauges)
    sources = [gauge for gauge in host.gauges if gauge.startswith("s")]
    assert len(sources) > 980  # in 65,536 a thousand seldom meet


def test_a_source_begins_so_many_in_a_second_and_ten_seconds_worth_at_once() -> None:
    host = Host(PER_SECOND)
    assert host.start()

    def begun(address: str, number: int = 100) -> int:
        """Begin connections that end at once; tell how many were let in."""
        let_in = 0
        for context in range(1, number + 1):
            let_in += host.connect(context, address, "", 21_000)
            host.end(context)
        return let_in

    assert begun("192.0.2.1:1") == PER_SECOND * AHEAD_S
    assert begun("192.0.2.1:1") == 0
    assert begun("192.0.2.2:1", 5) == 5, "another source does not wait"
    host.now_s += 1
    assert begun("192.0.2.1:1") == PER_SECOND
    host.now_s += 3_600
    assert begun("192.0.2.1:1") == PER_SECOND * AHEAD_S
