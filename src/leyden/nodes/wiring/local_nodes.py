"""Wiring of nodes on this machine: their runtime and chains, from settings."""

import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

from leyden.base.settings import Settings, own_names, words
from leyden.errors import SetupError
from leyden.lnd.trust import trusting_whenever
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.lnd.chains import (
    Backend,
    Bitcoind,
    BtcdBackend,
    Chain,
    Neutrino,
    check_backend,
)
from leyden.nodes.lnd.options import Logs
from leyden.nodes.rules.nodes import Network
from leyden.nodes.runtimes.base import NodeFiles, Runtime
from leyden.nodes.runtimes.local import layout
from leyden.nodes.runtimes.local.layout import Ground, Layout
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.nodes.runtimes.local.local_move_endpoint import LocalMoveEndpoint
from leyden.nodes.runtimes.local.local_node_files import LocalNodeFiles
from leyden.nodes.runtimes.move_endpoints import MoveEndpoint
from leyden.nodes.wiring import local_egress, onions
from leyden.nodes.wiring.placement import make_cgroups, make_placement
from leyden.nodes.wiring.programs import Binary, shared_copies


def runtime(
    settings: Settings,
    grounds: Mapping[Network, Ground],
    binary: Binary,
    authority: Authority,
) -> tuple[Runtime, NodeFiles, MoveEndpoint]:
    """Return the runtime, the homes and the side of nodes on this machine."""
    root = layout.root(settings.home_path)
    placement = local_egress.enforce(settings, make_placement(settings, root), grounds)
    if placement.first_uid is not None:
        binary = shared_copies(binary, settings.home_path / "programs")
    node_layout = Layout(root=root, placement=placement, grounds=grounds)
    local = LocalRuntime(
        node_layout,
        binary=binary,
        trusts=trusting(authority),
        cors_origins=own_names.origins(settings),
        tor_socks=onions.socks(settings),
        logs=Logs(files=settings.node_log_files, file_mb=settings.node_log_file_mb),
        grace_s=settings.node_stop_grace_s,
        cgroups=make_cgroups(settings),
        egress=local_egress.LocalEgress(settings, node_layout),
    )
    return (
        local,
        LocalNodeFiles(node_layout),
        LocalMoveEndpoint(node_layout, grace_s=settings.node_stop_grace_s),
    )


def grounds(settings: Settings) -> Mapping[Network, Ground]:
    """Return the configured chains; none if no nodes are run."""
    return dict(_grounds(settings))


def trusting(authority: Authority) -> ssl.SSLContext:
    """Return the TLS context for watching lnds."""
    try:
        return trusting_whenever(authority.anchors_pem.decode())
    except (ValueError, ssl.SSLError):
        authority.check()  # which says it so that it can be mended
        raise


def _grounds(settings: Settings) -> Iterator[tuple[Network, Ground]]:
    if settings.testnet_chain:
        chain = Chain(settings.testnet_chain)
        backend = _backend(settings, "testnet", settings.testnet_backend)
        yield Network.TESTNET, _ground(chain, backend)
    if settings.mainnet_backend:
        backend = _backend(settings, "mainnet", settings.mainnet_backend)
        yield Network.MAINNET, _ground(Chain.MAINNET, backend)


def _ground(chain: Chain, backend: Backend) -> Ground:
    check_backend(chain, backend)
    return Ground(chain=chain, backend=backend)


def _backend(settings: Settings, network: str, kind: str) -> Backend:
    def setting(name: str) -> str:
        return str(getattr(settings, f"{network}_{name}", ""))

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
    return BtcdBackend(
        host=setting("rpc_host"),
        user=setting("rpc_user"),
        password=setting("rpc_password"),
        certificate=certificate,
    )
