"""The options of a node's lnd that the platform sets."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from leyden.base.settings.own_names import check_origins
from leyden.errors import SetupError
from leyden.nodes.lnd import keys
from leyden.nodes.lnd.chains import Backend, Chain, check_backend
from leyden.nodes.lnd.conf import Lines
from leyden.nodes.lnd.keys import Key
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.onions import is_host
from leyden.nodes.rules.versions import Version
from leyden.values import Struct, field

_LEVELS: Final = {"trace", "debug", "info", "warn", "error", "critical", "off"}
# Options that the file may contain more than once.
REPEATABLE: Final = frozenset(
    {
        "restlisten",
        "rpclisten",
        "listen",
        "externalip",
        "externalhosts",
        "restcors",
        "neutrino.connect",
        "neutrino.addpeer",
    }
)
_NEW_LOGS = Version(0, 19, 0)


class Logs(Struct, frozen=True, kw_only=True):
    """Limits on the size of lnd's logs, as an owner can enable trace logging."""

    files: int = 3
    file_mb: int = 10


class Options(Struct, frozen=True, kw_only=True):
    """All options of a node's lnd that its owner can't set."""

    version: Version
    chain: Chain
    backend: Backend
    rest_listen: tuple[str, ...]
    rpc_listen: tuple[str, ...]
    domain: str  # the node's api_endpoint: the only name allowed in a certificate
    peer_listen: tuple[str, ...] = ()  # empty: only outgoing peer connections
    announced: tuple[str, ...] = ()  # HOST:PORT, as announced to the network
    cors_origins: tuple[str, ...] = ()  # whose pages may call the node's API
    tor_socks: str = ""  # IP:PORT; empty: this node has no Tor
    log_level: str = "info"
    logs: Logs = field(default_factory=Logs)
    on_console: bool = False  # log to stdout too; the runtime must limit its size
    tls_files: tuple[Path, ...] = ()  # certificate and key; empty: in the node's folder

    def __post_init__(self) -> None:
        check_backend(self.chain, self.backend)
        check_origins(self.cors_origins)
        if self.log_level not in _LEVELS:
            raise SetupError(f"log level: must be one of {', '.join(sorted(_LEVELS))}")
        if not self.rest_listen or not self.rpc_listen:
            raise SetupError("a node needs addresses to serve REST and gRPC on")


def lines(settings: NodeSettings, options: Options, home: Path) -> Lines:
    """Return all options of a node's lnd; only repeatable keys repeat."""
    return (
        *_platform(options),
        *_tor(settings, options),
        *keys.lines(settings, options.version, home),
    )


def _tor(settings: NodeSettings, options: Options) -> Iterator[tuple[str, str]]:
    """Let lnd use Tor, if the owner wants it for onion addresses only.

    Without that setting, lnd would use Tor for everything: peers on the clearnet and
    the lookup of names too.
    """
    if options.tor_socks and settings.torskipproxyforclearnettargets:
        yield "tor.active", "true"
        yield "tor.socks", options.tor_socks


def _platform(options: Options) -> Iterator[tuple[str, str]]:
    for key, value in _decided(options):
        if key.known_to(options.version):
            yield key.name, value


def _decided(options: Options) -> Iterator[tuple[Key, str]]:
    yield Key(f"bitcoin.{options.chain}"), "true"
    for name, value in options.backend.lines():
        yield Key(name), value
    for address in options.rest_listen:
        yield Key("restlisten"), address
    for address in options.rpc_listen:
        yield Key("rpclisten"), address
    if options.peer_listen:
        for address in options.peer_listen:
            yield Key("listen"), address
        for address in options.announced:
            yield Key(_announcing(address)), address
    else:
        yield Key("nolisten"), "true"
    for origin in options.cors_origins:
        yield Key("restcors"), origin
    for name, file in zip(("cert", "key"), options.tls_files, strict=False):
        yield Key(f"tls{name}path"), str(file)
    # If lnd ever creates its own certificate, this machine's names and addresses must
    # not be in it.
    yield Key("tlsdisableautofill"), "true"
    yield Key("tlsextradomain"), options.domain
    # lnd exits with code 0 if its chain backend or its signer is unavailable for some
    # minutes. That would look like a stop by the owner, of all nodes at once. Owners
    # want their nodes to wait for the backend instead.
    yield Key("healthcheck.chainbackend.attempts"), "0"
    yield Key("healthcheck.remotesigner.attempts"), "0"
    yield Key("debuglevel"), options.log_level
    # The log file's size is limited; that of the console's output is not.
    if not options.on_console:
        yield Key("logging.console.disable", since=_NEW_LOGS), "true"
    yield Key("logging.file.max-files", since=_NEW_LOGS), str(options.logs.files)
    yield Key("logging.file.max-file-size", since=_NEW_LOGS), str(options.logs.file_mb)
    yield Key("maxlogfiles", until=_NEW_LOGS), str(options.logs.files)
    yield Key("maxlogfilesize", until=_NEW_LOGS), str(options.logs.file_mb)


def _announcing(address: str) -> str:
    """Return the option that announces this address to the network.

    lnd resolves `externalhosts` repeatedly. An onion address needs no resolving: lnd
    announces it unchanged, even without Tor.
    """
    host = address.rpartition(":")[0].strip("[]")
    if is_host(host):
        return "externalip"
    try:
        ip_address(host)
    except ValueError:
        return "externalhosts"
    return "externalip"
