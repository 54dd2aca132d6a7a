"""An lnd of a seed alone, which nobody can reach and which reaches nobody.

It is in memory, has no chain backend, no peers and no port: gRPC over a socket in a
folder that only its owner may enter. It proves what its seed opens, and is gone.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import grpc

from leyden.errors import Refused, SetupError

_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder in memory, on every Linux
_WITHIN_S: Final = 60.0
_CALL_S: Final = 30.0
_LOOK_EVERY_S: Final = 0.05
_BYTES: Final = 2  # protobuf's wire type of everything that is sent here
# lnd's states, as numbers.
_NON_EXISTING, _OPEN, _WAITING = 0, frozenset({3, 4}), 255
_LONG: Final = 0x80


class ThrowawayLnd:
    """A running lnd of one seed."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def verify_channels(self, backup: bytes) -> list[str]:
        """Return the channels in a backup; raise Refused if this seed is another's."""
        multi = _field(2, _field(2, backup))
        answer = self._call("Lightning/VerifyChanBackup", multi)
        return [each.decode() for number, each in _fields(answer) if number == 1]

    def public_key(self) -> str:
        """Return the node's public key."""
        found = dict(_fields(self._call("Lightning/GetInfo", b"")))
        return found.get(1, b"").decode()

    def create(self, seed: list[str]) -> None:
        """Create the wallet of a seed."""
        password = secrets.token_urlsafe().encode()
        words = b"".join(_field(2, word.encode()) for word in seed)
        self._until({_NON_EXISTING})
        self._call("WalletUnlocker/InitWallet", _field(1, password) + words)
        self._until(_OPEN)

    def _until(self, states: Collection[int]) -> None:
        until = time.monotonic() + _WITHIN_S
        while self._state() not in states:
            if time.monotonic() > until:
                raise SetupError(
                    "lnd did not open the seed's wallet in time; try again"
                )
            time.sleep(_LOOK_EVERY_S)

    def _state(self) -> int:
        # One number, left out where it is 0; 255, which is two bytes, is "not yet".
        answer = self._call("State/GetState", b"")
        return _WAITING if len(answer) > _BYTES else int(answer[1]) if answer else 0

    def _call(self, method: str, request: bytes) -> bytes:
        call: Any = self._channel.unary_unary(f"/lnrpc.{method}")
        try:
            return bytes(call(request, timeout=_CALL_S))
        except grpc.RpcError as error:
            raise Refused(f"lnd refused: {error.details()}") from None


@contextlib.contextmanager
def throwaway_lnd(
    program: Path, seed: list[str], *, mainnet: bool
) -> Iterator[ThrowawayLnd]:
    """Run an lnd of a seed for the block; nothing of it is left."""
    if not _MEMORY.is_dir():
        raise SetupError(
            f"{_MEMORY} is missing: a drill needs it to keep the seed in memory only"
        )
    with tempfile.TemporaryDirectory(prefix="leyden-drill-", dir=_MEMORY) as name:
        folder = Path(name)
        process = subprocess.Popen(
            _words(program, folder, mainnet=mainnet),
            cwd=folder,
            env={"HOME": name},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            with _connected(folder, process) as channel:
                lnd = ThrowawayLnd(channel)
                lnd.create(seed)
                yield lnd
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _words(program: Path, folder: Path, *, mainnet: bool) -> list[str]:
    return [
        *(str(program), f"--lnddir={folder}"),
        f"--bitcoin.{'mainnet' if mainnet else 'regtest'}",
        *("--bitcoin.node=nochainbackend", "--nolisten", "--nobootstrap", "--norest"),
        *(f"--rpclisten=unix://{folder}/rpc", "--no-macaroons"),
        *("--tlsdisableautofill", "--logging.file.disable"),
    ]


@contextlib.contextmanager
def _connected(
    folder: Path, process: "subprocess.Popen[bytes]"
) -> Iterator[grpc.Channel]:
    until = time.monotonic() + _WITHIN_S
    while not (folder / "rpc").exists():
        if process.poll() is not None or time.monotonic() > until:
            raise SetupError("lnd for the drill did not start; try again")
        time.sleep(_LOOK_EVERY_S)
    trusted = grpc.ssl_channel_credentials((folder / "tls.cert").read_bytes())
    options = [("grpc.ssl_target_name_override", "localhost")]
    with grpc.secure_channel(f"unix:{folder}/rpc", trusted, options) as channel:
        grpc.channel_ready_future(channel).result(timeout=_WITHIN_S)
        yield channel


def _field(number: int, content: bytes) -> bytes:
    """Return a field of bytes as protobuf writes it."""
    return bytes([number << 3 | _BYTES]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= _LONG:
        found.append(value % _LONG | _LONG)
        value //= _LONG
    return bytes((*found, value))


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of bytes up to the first of another kind."""
    at = 0
    while at < len(content) and content[at] & 7 == _BYTES:
        number, size, shift = content[at] >> 3, 0, 0
        at += 1
        while True:
            size |= (content[at] % _LONG) << shift
            at, shift = at + 1, shift + 7
            if content[at - 1] < _LONG:
                break
        yield number, content[at : at + size]
        at += size
