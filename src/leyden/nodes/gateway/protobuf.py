"""Envoy's messages as protobuf, from the dictionaries of the JSON form.

Envoy reads and compares all of a listener at every change, and a third of
that was reading JSON. So the file on one machine is binary; a gateway that
polls over HTTP gets JSON, the only form it can ask for. Only the messages
that we send are here: field numbers never change, and a test has Envoy show
what it read from either form.
"""

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

_MORE: Final = 0x80  # a byte of a number that is not its last
_NUMBER: Final = 0  # wire types
_BYTES: Final = 2

Value = Any  # what JSON knows, and msgspec.Raw for what is encoded already
_Kind = Callable[[int, Value], bytes]


def encode(message: str, value: Value) -> msgspec.Raw:
    """Encode one message; raise KeyError for unknown fields or messages."""
    if isinstance(value, msgspec.Raw):
        return value
    if message == "Any":  # says by its `@type` which message it is
        rest = dict(value)
        url = rest.pop("@type")
        inside = bytes(encode(url.rpartition(".")[2], rest))
        return msgspec.Raw(_text(1, url) + _bytes(2, inside))
    return msgspec.Raw(b"".join(_parts(_MESSAGES[message], value)))


def _parts(fields: Mapping[str, tuple[int, _Kind]], value: Value) -> Iterator[bytes]:
    for name, content in value.items():
        number, kind = fields[name]
        if isinstance(content, list | tuple):
            yield from (kind(number, each) for each in content)
        else:
            yield kind(number, content)


def _varint(number: int) -> bytes:
    written = bytearray()
    while number >= _MORE:
        written.append(number % _MORE | _MORE)
        number //= _MORE
    written.append(number)
    return bytes(written)


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _number(number: int, value: int) -> bytes:
    # What is zero is left out.
    return _varint(number << 3 | _NUMBER) + _varint(value) if value else b""


def _wrapped(number: int, value: int) -> bytes:
    # Unlike a bare one, a zero that is wrapped is there.
    return _bytes(number, _number(1, value))


def _duration(number: int, value: str) -> bytes:
    return _bytes(number, _number(1, int(value.removesuffix("s"))))


def _base64(number: int, value: str) -> bytes:
    return _bytes(number, b64decode(value))


def _one_of(*names: str) -> _Kind:
    numbers = {name: number for number, name in enumerate(names)}
    return lambda number, value: _number(number, numbers[value])


def _message(name: str) -> _Kind:
    return lambda number, value: _bytes(number, bytes(encode(name, value)))


_MESSAGES: Final[Mapping[str, Mapping[str, tuple[int, _Kind]]]] = {
    "DiscoveryResponse": {
        "version_info": (1, _text),
        "resources": (2, _message("Any")),
        "type_url": (4, _text),
        "nonce": (5, _text),
    },
    "Listener": {
        "name": (1, _text),
        "address": (2, _message("Address")),
        "filter_chains": (3, _message("FilterChain")),
        "per_connection_buffer_limit_bytes": (5, _wrapped),
        "listener_filters": (9, _message("ListenerFilter")),
        "listener_filters_timeout": (15, _duration),
        "stat_prefix": (28, _text),
        "enable_reuse_port": (29, _wrapped),
        "tcp_keepalive": (37, _message("TcpKeepalive")),
    },
    "Address": {"socket_address": (1, _message("SocketAddress"))},
    "SocketAddress": {
        "address": (2, _text),
        "port_value": (3, _number),
        "ipv4_compat": (6, _number),
    },
    "TcpKeepalive": {
        "keepalive_probes": (1, _wrapped),
        "keepalive_time": (2, _wrapped),
        "keepalive_interval": (3, _wrapped),
    },
    "ListenerFilter": {"name": (1, _text), "typed_config": (3, _message("Any"))},
    "TlsInspector": {},
    "ProxyProtocol": {},
    "FilterChain": {
        "filter_chain_match": (1, _message("FilterChainMatch")),
        "filters": (3, _message("Filter")),
        "name": (7, _text),
    },
    "FilterChainMatch": {
        "source_prefix_ranges": (6, _message("CidrRange")),
        "server_names": (11, _text),
        "direct_source_prefix_ranges": (13, _message("CidrRange")),
    },
    "CidrRange": {"address_prefix": (1, _text), "prefix_len": (2, _wrapped)},
    "Filter": {"name": (1, _text), "typed_config": (4, _message("Any"))},
    "TcpProxy": {
        "stat_prefix": (1, _text),
        "cluster": (2, _text),
        "idle_timeout": (8, _duration),
    },
    "ConnectionLimit": {
        "stat_prefix": (1, _text),
        "max_connections": (2, _wrapped),
    },
    "LocalRateLimit": {
        "stat_prefix": (1, _text),
        "token_bucket": (2, _message("TokenBucket")),
    },
    "TokenBucket": {
        "max_tokens": (1, _number),
        "tokens_per_fill": (2, _wrapped),
        "fill_interval": (3, _duration),
    },
    "Config": {"on_new_connection": (1, _message("FilterStateValue"))},
    "FilterStateValue": {
        "object_key": (1, _text),
        "format_string": (2, _message("SubstitutionFormatString")),
        "shared_with_upstream": (4, _one_of("NONE", "ONCE", "TRANSITIVE")),
    },
    "SubstitutionFormatString": {"text_format_source": (5, _message("DataSource"))},
    "DataSource": {"filename": (1, _text), "inline_string": (3, _text)},
    "Wasm": {"config": (1, _message("PluginConfig"))},
    "PluginConfig": {
        "name": (1, _text),
        "vm_config": (3, _message("VmConfig")),
        "failure_policy": (7, _one_of("UNSPECIFIED", "FAIL_RELOAD")),
    },
    "VmConfig": {
        "vm_id": (1, _text),
        "runtime": (2, _text),
        "code": (3, _message("AsyncDataSource")),
        "configuration": (4, _message("Any")),
    },
    "AsyncDataSource": {"local": (1, _message("DataSource"))},
    "BytesValue": {"value": (1, _base64)},
}
