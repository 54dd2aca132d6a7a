"""Wiring nodes of this machine: from settings to a runtime, and chains to run on."""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

from leyden.app import gateways, local_egress
from leyden.app.dispatcher import words
from leyden.app.placement import cgroups_of, placement_of
from leyden.app.programs import Binary, shared_copies
from leyden.certificates.authority import Authority
from leyden.domain.nodes import Network
from leyden.errors import SetupError
from leyden.lnd.chains import Backend, Bitcoind, Btcd, Chain, Neutrino, check_backend
from leyden.lnd.options import Logs
from leyden.lnd.trust import trusting_whenever
from leyden.runtimes import layout
from leyden.runtimes.base import Homes, Runtime
from leyden.runtimes.layout import Ground, Layout
from leyden.runtimes.local import LocalRuntime
from leyden.runtimes.local_homes import LocalHomes
from leyden.runtimes.local_side import LocalSide
from leyden.runtimes.sides import Side
from leyden.settings import Settings


def runtime(
    given: Settings,
    grounds: Mapping[Network, Ground],
    binary: Binary,
    authority: Authority,
) -> tuple[Runtime, Homes, Side]:
    """Return what runs nodes on this machine, reads their folders, and moves them."""
    root = layout.root(given.home_path)
    placement = local_egress.enforce(given, placement_of(given, root), grounds)
    if placement.first_uid is not None:
        binary = shared_copies(binary, given.home_path / "programs")
    places = Layout(root=root, placement=placement, grounds=grounds)
    local = LocalRuntime(
        places,
        binary=binary,
        trusts=trusting(authority),
        cors_origins=gateways.origins(given),
        logs=Logs(files=given.node_log_files, file_mb=given.node_log_file_mb),
        grace_s=given.node_stop_grace_s,
        cgroups=cgroups_of(given),
        egress=local_egress.LocalEgress(given, places),
    )
    return local, LocalHomes(places), LocalSide(places, grace_s=given.node_stop_grace_s)


def grounds(given: Settings) -> Mapping[Network, Ground]:
    """Return the chains that the settings name; none where no nodes are run."""
    return dict(_grounds(given))


def trusting(authority: Authority) -> ssl.SSLContext:
    """Return the context in which lnds are listened to."""
    try:
        return trusting_whenever(authority.anchors_pem.decode())
    except (ValueError, ssl.SSLError):
        authority.check()  # which says it so that it can be mended
        raise


def _grounds(given: Settings) -> Iterator[tuple[Network, Ground]]:
    if given.testnet_chain:
        chain = Chain(given.testnet_chain)
        backend = _backend(given, "testnet", given.testnet_backend)
        yield Network.TESTNET, _ground(chain, backend)
    if given.mainnet_backend:
        backend = _backend(given, "mainnet", given.mainnet_backend)
        yield Network.MAINNET, _ground(Chain.MAINNET, backend)


def _ground(chain: Chain, backend: Backend) -> Ground:
    check_backend(chain, backend)
    return Ground(chain=chain, backend=backend)


def _backend(given: Settings, network: str, kind: str) -> Backend:
    def setting(name: str) -> str:
        return str(getattr(given, f"{network}_{name}", ""))

    if kind == "neutrino":
        return Neutrino(only_peers=words(setting("peers")), fee_url=setting("fee_url"))
    if not setting("rpc_host"):
        raise SetupError(f"{network}_rpc_host: must be HOST:PORT for {kind}")
    if kind == "bitcoind":
        return Bitcoind(
            host=setting("rpc_host"),
            user=setting("rpc_user"),
            password=setting("rpc_password"),
        )
    try:
        certificate = Path(setting("rpc_certificate")).read_bytes()
    except OSError as error:
        reason = error.strerror
        raise SetupError(f"{network}_rpc_certificate: {reason}") from None
    return Btcd(
        host=setting("rpc_host"),
        user=setting("rpc_user"),
        password=setting("rpc_password"),
        certificate=certificate,
    )
