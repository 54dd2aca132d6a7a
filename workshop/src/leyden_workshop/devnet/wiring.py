"""The settings of a platform on its private chain: hosts and ports."""

from pathlib import Path
from typing import Any

import msgspec

from leyden import values
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings, private_chain
from leyden.base.settings.fields import PRIVATE_PEER_PORTS
from leyden.nodes.certificates.self_signed import ensure_certificate, heal_certificate
from leyden_workshop.devnet import access, first_run, purse, seller
from leyden_workshop.devnet.layout import AuctionPorts, DaemonPorts, PursePorts
from leyden_workshop.devnet.treasury import macaroon


def wired(given: Settings, chain: access.ChainAccess) -> Settings:
    """Return the settings with the private chain; write them down for commands."""
    running = with_chain(given, chain)
    auctioneer = chain.auctioneer.address if chain.auctioneer else ""
    private_chain.save(given, running, chain=chain.chain, auctioneer=auctioneer)
    return running


def ports(given: Settings) -> DaemonPorts:
    """Return the chain's ports, and the market's if it is enabled."""
    traders = {
        each.name: getattr(given, f"devnet_{each.name}_port")
        for each in values.fields(AuctionPorts)
    }
    purses = {
        each.name: getattr(given, f"devnet_{each.name}_port")
        for each in values.fields(PursePorts)
    }
    return DaemonPorts(
        btcd=given.devnet_btcd_port,
        treasury_peer=given.devnet_treasury_peer_port,
        treasury_grpc=given.devnet_treasury_grpc_port,
        treasury_rest=given.devnet_treasury_rest_port,
        auction=AuctionPorts(**traders) if given.devnet_market else None,
        purse=PursePorts(**purses) if given.devnet_jit else None,
    )


def with_chain(given: Settings, chain: access.ChainAccess) -> Settings:
    """Return the settings with the private chain as testnet."""
    certificate = Path(chain.btcd.certificate)
    heal_certificate(certificate, certificate.with_suffix(".key"))
    cluster = chain.cluster
    ensure_certificate(
        certificate, now=utc_now(), also_for=cluster.host if cluster else ""
    )
    treasury = chain.lnds["treasury"]
    peers = [lnd.peer for lnd in chain.lnds.values()]
    return msgspec.structs.replace(
        given,
        testnet_chain=chain.chain,
        testnet_backend="btcd",
        testnet_rpc_host=chain.btcd.address,
        testnet_rpc_user=chain.btcd.user,
        testnet_rpc_password=chain.btcd.password,
        testnet_rpc_certificate=str(certificate),
        treasury_host=treasury.rest,
        treasury_certificate=treasury.certificate,
        treasury_macaroon=str(macaroon(given.home_path)),
        **_market_settings(chain),
        **_seller_settings(given, chain),
        **_jit_settings(given, chain),
        **_cluster_settings(given, cluster),
        # Who is on this chain has no public address: its lnds are peers all the same.
        nodes_may_reach=", ".join(filter(None, (given.nodes_may_reach, *peers))),
        # Nobody else is on this chain: peers of nodes are on this machine too.
        peer_ports=given.peer_ports or PRIVATE_PEER_PORTS,
        # Webhooks are tried with a receiver on this machine.
        webhooks_over_http=True,
        webhook_networks=given.webhook_networks or "127.0.0.0/8, ::1/128",
    )


def _seller_settings(given: Settings, chain: access.ChainAccess) -> dict[str, Any]:
    """Return the settings for direct channels; the seller may be down."""
    if (lnd := chain.lnds.get("seller")) is None:
        return {}
    return {
        "seller_host": lnd.rest,
        "seller_certificate": lnd.certificate,
        "seller_macaroon": str(seller.macaroon(given.home_path)),
        "lsps1": True,
        "lsps7": True,
        "lsps1_organization": given.lsps1_organization or first_run.TEAM,
        # A coin is reserved whole, and the seller's are large here.
        "lsps1_most_reserved": 5 * seller.COIN_SATS,
    }


def _jit_settings(given: Settings, chain: access.ChainAccess) -> dict[str, Any]:
    """Return the settings for just-in-time channels; the purse may be down."""
    if (lnd := chain.lnds.get("purse")) is None:
        return {}
    return {
        "jit_host": lnd.rest,
        "jit_certificate": lnd.certificate,
        "jit_macaroon": str(purse.macaroon(given.home_path)),
        "jit_wrapped_invoices": True,
    }


def _cluster_settings(
    given: Settings, cluster: access.ClusterAccess | None
) -> dict[str, str]:
    """Return the settings for nodes in pods."""
    if cluster is None:
        return {}
    return {
        "runtime": "kubernetes",
        "kubeconfig": cluster.kubeconfig,
        "kubernetes_namespace": cluster.namespace,
        "kubernetes_storage_class": cluster.storage_class,
        "kubernetes_images": cluster.images,
        "companion_image": cluster.companion_image,
        "companion_url": cluster.companion_url,
        "companion_host": cluster.host,
        # The chain's lnds are programs of this machine, and so is the gateway.
        "peer_host": given.peer_host or given.gateway_host,
    }


def _market_settings(chain: access.ChainAccess) -> dict[str, str]:
    """Return the settings for buying channels; the provider may be down."""
    names = {"seller": "own", "purse": "jit"}
    own = "".join(f", {names[each]}" for each in names if each in chain.lnds)
    if (provider := chain.pools.get("provider")) is None:
        return {"market": f"simulated{own}"}
    return {
        "market": f"pool{own}",
        "pool_host": provider.grpc,
        "pool_certificate": provider.certificate,
        "pool_macaroon": provider.macaroon,
    }
