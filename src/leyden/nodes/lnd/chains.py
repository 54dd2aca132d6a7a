"""The chain backends of nodes, in lnd's options."""

from collections.abc import Iterator
from enum import StrEnum
from urllib.parse import urlsplit

from leyden.errors import SetupError
from leyden.values import Struct, hiding


class Chain(StrEnum):
    """A chain, as lnd spells it and names its folders."""

    MAINNET = "mainnet"
    TESTNET3 = "testnet"
    TESTNET4 = "testnet4"
    SIGNET = "signet"
    SIMNET = "simnet"
    REGTEST = "regtest"


class BtcdBackend(Struct, frozen=True, kw_only=True):
    """A btcd of the installation."""

    host: str
    user: str
    password: str
    certificate: bytes  # PEM; written into lnd.conf, as nodes can't read our files

    __repr__ = hiding("password")

    @property
    def hosts(self) -> Iterator[str]:
        """Yield the addresses that nodes connect to for it, as HOST:PORT."""
        yield self.host

    def lines(self) -> Iterator[tuple[str, str]]:
        """Return lnd's options for this backend."""
        yield "bitcoin.node", "btcd"
        yield "btcd.rpchost", self.host
        yield "btcd.rpcuser", _literal(self.user)
        yield "btcd.rpcpass", _literal(self.password)
        yield "btcd.rawrpccert", self.certificate.hex()


class Bitcoind(Struct, frozen=True, kw_only=True):
    """A bitcoind of the installation; polled if it has no ZMQ."""

    host: str
    user: str
    password: str
    zmq_blocks: str = ""
    zmq_transactions: str = ""

    __repr__ = hiding("password")

    @property
    def hosts(self) -> Iterator[str]:
        """Yield the addresses that nodes connect to for it, as HOST:PORT."""
        yield self.host
        for address in (self.zmq_blocks, self.zmq_transactions):
            if address:
                yield urlsplit(address).netloc

    def lines(self) -> Iterator[tuple[str, str]]:
        """Return lnd's options for this backend."""
        yield "bitcoin.node", "bitcoind"
        yield "bitcoind.rpchost", self.host
        yield "bitcoind.rpcuser", _literal(self.user)
        yield "bitcoind.rpcpass", _literal(self.password)
        if self.zmq_blocks and self.zmq_transactions:
            yield "bitcoind.zmqpubrawblock", self.zmq_blocks
            yield "bitcoind.zmqpubrawtx", self.zmq_transactions
        else:
            yield "bitcoind.rpcpolling", "true"


class Neutrino(Struct, frozen=True, kw_only=True):
    """No backend of ours: blocks come from peers that serve compact filters."""

    only_peers: tuple[str, ...] = ()
    more_peers: tuple[str, ...] = ()
    fee_url: str = ""  # on mainnet lnd does not start without one

    @property
    def hosts(self) -> Iterator[str]:
        """Yield the addresses that nodes connect to for it, as HOST:PORT."""
        yield from (*self.only_peers, *self.more_peers)
        if self.fee_url:
            url = urlsplit(self.fee_url)
            usual = "" if url.port else ":443" if url.scheme == "https" else ":80"
            yield url.netloc.rpartition("@")[2] + usual

    def lines(self) -> Iterator[tuple[str, str]]:
        """Return lnd's options for these peers."""
        yield "bitcoin.node", "neutrino"
        for peer in self.only_peers:
            yield "neutrino.connect", peer
        for peer in self.more_peers:
            yield "neutrino.addpeer", peer
        if self.fee_url:
            yield "fee.url", self.fee_url


Backend = BtcdBackend | Bitcoind | Neutrino


def check_backend(chain: Chain, backend: Backend) -> None:
    """Raise SetupError for a combination that lnd does not start with."""
    if isinstance(backend, Bitcoind) and chain is Chain.SIMNET:
        raise SetupError("bitcoind does not support simnet: choose regtest, or btcd")
    if isinstance(backend, Neutrino) and chain is Chain.MAINNET and not backend.fee_url:
        raise SetupError("neutrino on mainnet needs the URL of a fee estimator")


def _literal(text: str) -> str:
    """Return the text; raise for $NAME, which lnd would expand from its environment."""
    if text.startswith("$"):
        raise SetupError("the chain backend's user and password must not begin with $")
    return text
