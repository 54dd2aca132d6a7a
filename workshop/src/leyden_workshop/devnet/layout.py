"""The folders and ports of a private chain's daemons on this machine."""

import secrets
from pathlib import Path

import msgspec

from leyden.customer.claim import poold
from leyden.errors import SetupError
from leyden.values import Struct
from leyden_workshop.devnet import access, lnd
from leyden_workshop.devnet.access import ChainAccess, ClusterAccess

_CHAIN = ("btcd", "treasury")
# Each needs those before it.
NAMES = (
    *(*_CHAIN, "auctioneer", "asker", "customer", "seller", "purse"),
    *("provider", "asker-pool", "customer-pool"),
)


class AuctionPorts(Struct, frozen=True, kw_only=True):
    """The ports of the auction's daemons, all on 127.0.0.1."""

    auctioneer: int
    auctioneer_control: int
    provider_grpc: int
    provider_rest: int
    asker_peer: int
    asker_grpc: int
    asker_rest: int
    asker_pool_grpc: int
    asker_pool_rest: int
    seller_peer: int
    seller_grpc: int
    seller_rest: int
    customer_peer: int
    customer_grpc: int
    customer_rest: int
    customer_pool_grpc: int
    customer_pool_rest: int


class PursePorts(Struct, frozen=True, kw_only=True):
    """The ports of the lnd of just-in-time channels."""

    purse_peer: int
    purse_grpc: int
    purse_rest: int


class DaemonPorts(Struct, frozen=True, kw_only=True):
    """The ports of the daemons, on this machine alone."""

    btcd: int = 18556
    treasury_peer: int = 9735
    treasury_grpc: int = 10010
    treasury_rest: int = 8081
    auction: AuctionPorts | None = None  # None: there is no auction
    purse: PursePorts | None = None  # None: there is none; only beside the auction


def access_for(
    home: Path, chain: str, ports: DaemonPorts, *, cluster: ClusterAccess | None = None
) -> ChainAccess:
    """Return the addresses and files of a home's daemons.

    With a cluster, pods reach btcd and lnds as peers at this machine's address in it.
    The btcd password stays the same if there is one already.
    """
    folder = access.folder(home)
    host = cluster.host if cluster else lnd.LOOPBACK
    try:
        password = access.load(home).btcd.password
    except SetupError:
        password = secrets.token_urlsafe(32)
    alone = ChainAccess(
        chain=chain,
        daemons=list(_CHAIN),
        btcd=access.BtcdAccess(
            address=f"{host}:{ports.btcd}",
            user="leyden",
            password=password,
            certificate=str(folder / "btcd" / "rpc.cert"),
        ),
        lnds={
            "treasury": lnd.access_for(
                folder / "treasury",
                chain,
                rest=ports.treasury_rest,
                grpc=ports.treasury_grpc,
                peer=ports.treasury_peer,
                host=host,
            )
        },
        cluster=cluster,
    )
    if ports.auction is None:
        return alone
    market = _with(alone, folder, ports.auction, host)
    if ports.purse is None:
        return market
    purse = lnd.access_for(
        folder / "purse",
        chain,
        rest=ports.purse.purse_rest,
        grpc=ports.purse.purse_grpc,
        peer=ports.purse.purse_peer,
        host=host,
    )
    return msgspec.structs.replace(
        market, daemons=list(NAMES), lnds={**market.lnds, "purse": purse}
    )


def _with(
    alone: ChainAccess, folder: Path, ports: AuctionPorts, host: str
) -> ChainAccess:
    chain = alone.chain
    return ChainAccess(
        chain=chain,
        daemons=[name for name in NAMES if name != "purse"],
        btcd=alone.btcd,
        cluster=alone.cluster,
        lnds={
            **alone.lnds,
            "asker": lnd.access_for(
                folder / "asker",
                chain,
                rest=ports.asker_rest,
                grpc=ports.asker_grpc,
                peer=ports.asker_peer,
                host=host,
            ),
            "seller": lnd.access_for(
                folder / "seller",
                chain,
                rest=ports.seller_rest,
                grpc=ports.seller_grpc,
                peer=ports.seller_peer,
                host=host,
            ),
            "customer": lnd.access_for(
                folder / "customer",
                chain,
                rest=ports.customer_rest,
                grpc=ports.customer_grpc,
                peer=ports.customer_peer,
                host=host,
            ),
        },
        pools={
            "provider": poold.access_for(
                folder / "provider",
                chain,
                grpc=ports.provider_grpc,
                rest=ports.provider_rest,
                lnd="treasury",
            ),
            "asker-pool": poold.access_for(
                folder / "asker-pool",
                chain,
                grpc=ports.asker_pool_grpc,
                rest=ports.asker_pool_rest,
                lnd="asker",
            ),
            "customer-pool": poold.access_for(
                folder / "customer-pool",
                chain,
                grpc=ports.customer_pool_grpc,
                rest=ports.customer_pool_rest,
                lnd="customer",
            ),
        },
        auctioneer=access.AuctioneerAccess(
            address=f"127.0.0.1:{ports.auctioneer}",
            control=f"127.0.0.1:{ports.auctioneer_control}",
        ),
    )
