"""A real ACME authority, pebble, and names that all lead to this machine.

It is built from the module beside this file, once, into the cache of daemons.
"""

import contextlib
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from leyden.base.daemons import build as builds
from leyden.base.daemons.build import program_path
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.errors import SetupError
from tests.authority import Authority
from tests.ports import free_port, free_ports
from tests.programs import only_with_all

BLOCKED = "blocked.nodes.test"
BINDING_ID, BINDING_SECRET = "harbour", "bGlnaHRob3VzZS1saWdodGhvdXNlLWxpZ2h0aG91c2U"
_PROGRAM = Program("pebble", "2.9.0", "github.com/letsencrypt/pebble/v2/cmd/pebble")
_SET = ToolSet(
    name="pebble-2.9.0",
    programs=(_PROGRAM,),
    folder=Path(__file__).parent / "pebble-2.9.0",
)
_READY_S = 20.0


@dataclass(frozen=True)
class Pebble:
    """One that runs."""

    directory: str
    answers_port: int  # where it looks for answers, at every name
    authorities: Path  # who vouches for itself, and who is above what it issues


async def program() -> Path:
    """Build it, or find it built; skip where neither can be done."""
    only_with_all("pebble")
    cache = builds.default_cache(os.environ)
    try:
        await builds.build([(_SET, _PROGRAM)], cache=cache)
    except SetupError as error:
        pytest.skip(f"no pebble here: {error.message}")
    return program_path(cache, _SET, _PROGRAM)


@contextlib.contextmanager
def running(
    binary: Path, folder: Path, *, bound: bool = False, life_s: int = 7_776_000
) -> Iterator[Pebble]:
    """Run one until the block ends; `bound` lets in those alone who are known to it."""
    folder.mkdir(parents=True, exist_ok=True)
    itself = Authority("pebble's own")
    itself.give(folder, "127.0.0.1")
    port, management, answers = free_ports(3)
    config = folder / "pebble.json"
    config.write_text(
        json.dumps(
            {
                "pebble": {
                    "listenAddress": f"127.0.0.1:{port}",
                    "managementListenAddress": f"127.0.0.1:{management}",
                    "certificate": f"{folder}/tls.cert",
                    "privateKey": f"{folder}/tls.key",
                    "httpPort": answers,
                    "tlsPort": free_port(),
                    "externalAccountBindingRequired": bound,
                    "externalAccountMACKeys": {BINDING_ID: BINDING_SECRET},
                    "domainBlocklist": [BLOCKED],
                    "keyAlgorithm": "ecdsa",
                    "retryAfter": {"authz": 1, "order": 1},
                    "profiles": {"default": {"validityPeriod": life_s}},
                }
            }
        )
    )
    quick = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0"}
    with _names() as resolver, (folder / "pebble.log").open("wb") as log:
        process = subprocess.Popen(
            [binary, "-config", config, "-dnsserver", resolver, "-strict"],
            stdout=log,
            stderr=log,
            env={**os.environ, **quick},
        )
        try:
            trusted = folder / "authorities.pem"
            trusted.write_text(itself.pem)
            root = _fetched(f"https://127.0.0.1:{management}/roots/0", trusted)
            trusted.write_text(itself.pem + root)
            yield Pebble(f"https://127.0.0.1:{port}/dir", answers, trusted)
        finally:
            process.kill()
            process.wait()


def _fetched(url: str, trusted: Path) -> str:
    context = ssl.create_default_context(cafile=trusted)
    deadline = time.monotonic() + _READY_S
    while True:
        try:
            with urllib.request.urlopen(url, context=context) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@contextlib.contextmanager
def _names() -> Iterator[str]:
    """Answer every question for an IPv4 address with this machine's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_resolve, args=(listener,), daemon=True)
        thread.start()
        host, port = listener.getsockname()
        try:
            yield f"{host}:{port}"
        finally:
            listener.sendto(b"", (host, port))  # the last one
            thread.join()


def _resolve(listener: socket.socket) -> None:
    while True:
        request, caller = listener.recvfrom(512)
        if not request:
            return
        ends = request.index(b"\0", 12) + 5
        wants_ipv4 = request[ends - 4 : ends - 2] == b"\0\1"
        header = request[:2] + struct.pack("!5H", 0x8180, 1, int(wants_ipv4), 0, 0)
        found = struct.pack("!HHHIH4B", 0xC00C, 1, 1, 1, 4, 127, 0, 0, 1)
        listener.sendto(header + request[12:ends] + found * wants_ipv4, caller)
