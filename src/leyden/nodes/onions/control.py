"""Tor's control port: onion services that outlive our connection to it.

Services are detached: they stay when we go, and end with Tor. The connection is kept,
because Tor logs each new one; after whatever went wrong the next call opens another.

1. Ask how Tor lets controllers in.
2. Prove the password, or the cookie (SAFECOOKIE: neither side shows it, and Tor proves
   it first); where Tor asks for neither, prove nothing.
3. Do one thing, as often as asked.

Each call ends within one deadline, whatever listens there.
"""

import asyncio
import base64
import hmac
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from leyden.errors import TorAway
from leyden.nodes.onions.base import TorState
from leyden.nodes.onions.wire import TorConnection, TorReply, connect
from leyden.nodes.rules.onions import PORT, Onion, expanded, is_host
from leyden.values import Struct, hiding

_DEADLINE_S: Final = 10.0
_COOKIE_BYTES: Final = 32
_TAKEN, _UNKNOWN, _NOT_LET_IN = 550, 552, 515
_SUFFIX: Final = ".onion"
_FROM_TOR: Final = b"Tor safe cookie authentication server-to-controller hash"
_TO_TOR: Final = b"Tor safe cookie authentication controller-to-server hash"
_CHALLENGE = re.compile(
    r"AUTHCHALLENGE SERVERHASH=([0-9A-F]{64}) SERVERNONCE=([0-9A-F]{64})", re.IGNORECASE
)
_METHODS = re.compile(r"AUTH METHODS=([A-Z,]+)(?: COOKIEFILE=.*)?")
_VERSION = re.compile(r'VERSION Tor="([0-9a-z. ()-]{1,80})".*')


class ControlPort(Struct, frozen=True, kw_only=True):
    """A control port, and how to be let in."""

    address: str  # HOST:PORT, or unix:PATH
    password: str = ""
    cookie_file: Path | None = None
    deadline_s: float = _DEADLINE_S

    __repr__ = hiding("password")


class TorControl:
    """A Tor, by its control port."""

    def __init__(self, port: ControlPort) -> None:
        self.port = port
        self._open: tuple[TorConnection, str] | None = None  # and Tor's version
        self._turn = asyncio.Lock()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._open is not None:
            self._open[0].close()
            self._open = None

    async def status(self) -> TorState:
        """Return what Tor has."""
        async with self._let_in() as (connection, version):
            found = await connection.ask("GETINFO onions/detached")
            circuits = await connection.ask("GETINFO status/circuit-established")
        if not found.well or not circuits.well:
            raise self._away("does not say which onion services it has: is it too old?")
        hosts = frozenset(each + _SUFFIX for each in found.values("onions/detached"))
        if not all(map(is_host, hosts)):
            raise self._away("says something else than which onion services it has")
        return TorState(
            hosts=hosts,
            connected=circuits.values("status/circuit-established") == ("1",),
            version=version,
        )

    async def add(self, onion: Onion) -> None:
        """Create a service that stays when we are gone; no-op if it is there."""
        key = base64.b64encode(expanded(onion.seed)).decode()
        service = f"ADD_ONION ED25519-V3:{key} Flags=Detach,DiscardPK"
        async with self._let_in() as (connection, _):
            answer = await connection.ask(f"{service} Port={PORT},{onion.to}")
        if answer.code == _TAKEN:
            return
        # Of its words nothing is said on: the key may be among them.
        if not answer.well:
            raise self._away(f"refuses an onion service ({answer.code})")
        if answer.values("ServiceID") != (onion.host.removesuffix(_SUFFIX),):
            raise self._away("made another onion service than it was told")

    async def remove(self, host: str) -> None:
        """End a service; no-op if it is not there."""
        async with self._let_in() as (connection, _):
            answer = await connection.ask(f"DEL_ONION {host.removesuffix(_SUFFIX)}")
        if not answer.well and answer.code != _UNKNOWN:
            raise self._away(f"does not end an onion service ({answer.code})")

    @asynccontextmanager
    async def _let_in(self) -> AsyncIterator[tuple[TorConnection, str]]:
        """Take our turn with the connection, for the block; yield Tor's version too."""
        async with self._turn:
            answered = False
            try:
                async with asyncio.timeout(self.port.deadline_s):
                    if self._open is None or not self._open[0].is_open:
                        self.close()
                        self._open = await self._opened()
                    yield self._open
                answered = True
            except (TorAway, OSError) as error:
                raise self._translated(error) from None
            finally:
                if not answered:  # the next response could belong to another request
                    self.close()

    async def _opened(self) -> tuple[TorConnection, str]:
        connection = await connect(self.port.address)
        try:
            methods, version = self._offer(await connection.ask("PROTOCOLINFO 1"))
            proof = await self._proof(connection, methods)
            self._check(await connection.ask(f"AUTHENTICATE {proof}".rstrip()))
        except BaseException:
            connection.close()
            raise
        return connection, version

    def _translated(self, error: TorAway | OSError) -> TorAway:
        match error:
            case TorAway() if error.message.startswith("tor_"):
                return error
            case TorAway():
                return self._away(error.message)
            case TimeoutError():
                return self._away("does not respond in time")
        return self._away(_why(error))

    def _offer(self, answer: TorReply) -> tuple[set[str], str]:
        """Return how Tor lets in, and its version."""
        methods = [_METHODS.fullmatch(line) for line in answer.lines]
        versions = [_VERSION.fullmatch(line) for line in answer.lines]
        found = [each[1].split(",") for each in methods if each]
        if not answer.well or not found:
            raise TorAway("what listens there does not speak Tor's control protocol")
        version = next((each[1] for each in versions if each), "of unknown version")
        return set(found[0]), version

    async def _proof(self, connection: TorConnection, methods: set[str]) -> str:
        if self.port.password and "HASHEDPASSWORD" in methods:
            return self.port.password.encode().hex()
        if self.port.cookie_file is not None and "SAFECOOKIE" in methods:
            return await self._cookie_proof(connection, self.port.cookie_file)
        if "NULL" in methods:
            return ""
        if "HASHEDPASSWORD" in methods:
            raise TorAway("tor_password: must be set, since Tor asks for one")
        if "SAFECOOKIE" in methods:
            raise TorAway("tor_cookie_file: must be set, since Tor asks for its cookie")
        raise self._away("lets nobody in by a password or a cookie")

    async def _cookie_proof(self, connection: TorConnection, file: Path) -> str:
        try:
            cookie = await asyncio.to_thread(_read, file)
        except OSError as error:
            raise TorAway(
                f"tor_cookie_file: {file} cannot be read ({error.strerror}): name the "
                "file of Tor's CookieAuthFile, and let this user read it"
            ) from None
        if len(cookie) != _COOKIE_BYTES:
            raise TorAway(
                f"tor_cookie_file: {file} has no cookie in it, which is "
                f"{_COOKIE_BYTES} bytes"
            )
        nonce = secrets.token_bytes(_COOKIE_BYTES)
        answer = await connection.ask(f"AUTHCHALLENGE SAFECOOKIE {nonce.hex()}")
        found = _CHALLENGE.fullmatch(answer.lines[0]) if answer.well else None
        if found is None:
            raise TorAway("does not take part in SAFECOOKIE")
        said, theirs = bytes.fromhex(found[1]), bytes.fromhex(found[2])
        both = cookie + nonce + theirs
        if not hmac.compare_digest(said, hmac.digest(_FROM_TOR, both, "sha256")):
            raise TorAway(f"tor_cookie_file: {file} is not the cookie of this Tor")
        return hmac.digest(_TO_TOR, both, "sha256").hex()

    def _check(self, answer: TorReply) -> None:
        if answer.well:
            return
        if answer.code == _NOT_LET_IN and self.port.password:
            raise TorAway("tor_password: Tor says that this is not its password")
        raise TorAway(f"does not let us in ({answer.code})")

    def _away(self, what: str) -> TorAway:
        return TorAway(f"tor_control: {self.port.address}: {what}")


def _read(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_COOKIE_BYTES + 1)


def _why(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        return "nothing listens there: start Tor, or correct tor_control"
    return error.strerror or "the connection failed"
