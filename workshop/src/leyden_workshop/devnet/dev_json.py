"""dev.json: keys and daemon addresses of a private installation."""

from typing import Any

import msgspec

from leyden.base.settings import Settings
from leyden.nodes.certificates import previous_authorities
from leyden_workshop.devnet import access, first_run


def write_down(given: Settings, chain: access.ChainAccess) -> None:
    """Write the addresses and credentials that scripts and people need."""
    treasury = chain.lnds["treasury"]
    first_run.write(
        given.home_path,
        {
            "base_url": given.api_url,
            "dashboard_url": given.dashboard_url,
            "ca_path": str(
                previous_authorities.anchors_path(given.home_path / "authority")
            ),
            "gateway": {
                "host": given.gateway_host,
                "rest_port": given.gateway_rest_port,
                "grpc_port": given.gateway_grpc_port,
            },
            "chain": {"name": chain.chain, **msgspec.to_builtins(chain.btcd)},
            "treasury": msgspec.to_builtins(treasury),
            "provider": _shown(chain.pools.get("provider")),
            "auctioneer": _shown(chain.auctioneer),
            "asker": _trading(chain, "asker"),
            "customer": _trading(chain, "customer"),
        },
    )


def _shown(what: msgspec.Struct | None) -> Any:
    return None if what is None else msgspec.to_builtins(what)


def _trading(chain: access.ChainAccess, name: str) -> Any:
    """Return the fields of an lnd and of its poold."""
    if name not in chain.lnds:
        return None
    return {
        **msgspec.to_builtins(chain.lnds[name]),
        "pool": msgspec.to_builtins(chain.pools[f"{name}-pool"]),
    }
