"""Where a node learns of blocks, in lnd's words."""

from collections.abc import Iterator
from enum import StrEnum

from leyden.errors import SetupError
from leyden.values import Struct, hiding


class Chain(StrEnum):
    """Which chain a node lives on, as lnd spells it and names its folders."""

    MAINNET = "mainnet"
    TESTNET3 = "testnet"
    TESTNET4 = "testnet4"
    SIGNET = "signet"
    SIMNET = "simnet"
    REGTEST = "regtest"


class Btcd(Struct, frozen=True, kw_only=True):
    """A btcd of the installation."""

    host: str
    user: str
    password: str
    certificate: bytes  # PEM; goes into lnd.conf, for a node may not read our files

    __repr__ = hiding("password")

    def lines(self) -> Iterator[tuple[str, str]]:
        """Give the options by which lnd finds it."""
        yield "bitcoin.node", "btcd"
        yield "btcd.rpchost", self.host
        yield "btcd.rpcuser", _literal(self.user)
        yield "btcd.rpcpass", _literal(self.password)
        yield "btcd.rawrpccert", self.certificate.hex()


class Bitcoind(Struct, frozen=True, kw_only=True):
    """A bitcoind of the installation; it is polled where it has no ZMQ."""

    host: str
    user: str
    password: str
    zmq_blocks: str = ""
    zmq_transactions: str = ""

    __repr__ = hiding("password")

    def lines(self) -> Iterator[tuple[str, str]]:
        """Give the options by which lnd finds it."""
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
    fee_url: str = ""  # on mainnet lnd does not start without

    def lines(self) -> Iterator[tuple[str, str]]:
        """Give the options by which lnd finds them."""
        yield "bitcoin.node", "neutrino"
        for peer in self.only_peers:
            yield "neutrino.connect", peer
        for peer in self.more_peers:
            yield "neutrino.addpeer", peer
        if self.fee_url:
            yield "fee.url", self.fee_url


Backend = Btcd | Bitcoind | Neutrino


def check_backend(chain: Chain, backend: Backend) -> None:
    """Refuse a pair that lnd would not start with."""
    if isinstance(backend, Bitcoind) and chain is Chain.SIMNET:
        raise SetupError("bitcoind knows no simnet: choose regtest, or btcd")
    if isinstance(backend, Neutrino) and chain is Chain.MAINNET and not backend.fee_url:
        raise SetupError("neutrino on mainnet needs the address of a fee estimator")


def _literal(text: str) -> str:
    """Refuse $NAME, which lnd would look up in its environment."""
    if text.startswith("$"):
        raise SetupError("the chain backend's user and password must not begin with $")
    return text
