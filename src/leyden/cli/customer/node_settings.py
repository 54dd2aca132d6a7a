"""A node's settings as options: each with its sentence, and what a change costs."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click
import msgspec

from leyden.client.node_items import NodeSettings
from leyden.errors import SetupError

# What is not among these restarts lnd when it is changed, and locks its wallet.
AT_ONCE: Final = frozenset({"whitelist", "webhook", "rest", "grpc"})
SWITCHES: Final[Mapping[str, str]] = {
    "rest": "Its REST can be reached.",
    "grpc": "Its gRPC can be reached.",
    "keysend": "Take payments that nobody asked for.",
    "amp": "Take payments in several parts with several secrets.",
    "wumbo": "Accept channels above 16,777,215 sat.",
    "autopilot": "Let lnd open channels by itself.",
    "autocompaction": "Compact the databases at each start.",
    "wtclient": "Have watchtowers look after the channels.",
    "allowcircularroute": "Let a payment leave and come back by one channel.",
    "gccanceledinvoicesonstartup": "Delete cancelled invoices at each start.",
    "gccanceledinvoicesonthefly": "Delete cancelled invoices as they are.",
    "torskipproxyforclearnettargets": "Reach peers that are not on Tor without it.",
    "rpcmiddleware": "Let programs step in between callers and lnd.",
    "optionscidalias": "Give channels other names; zeroconf needs it.",
    "zeroconf": "Accept channels before they are confirmed.",
    "remotesigning": "Let another lnd hold the keys and sign.",
}
WORDS: Final[Mapping[str, str]] = {
    "alias": "Its name on the network; 32 bytes at most.",
    "color": "Its colour on the network, as in #ff9900.",
    "webhook": "The URL that is told of its states.",
    "minchansize": "The smallest channel to accept, in sat.",
    "maxchansize": "The largest channel to accept, in sat.",
    "defaultfeerate": "What forwarding costs, in sat for each million.",
    "basefee": "What forwarding costs beside that, in millisat.",
    "maxpendingchannels": "Channels that one peer may be opening at a time.",
    "numgraphsyncpeers": "Peers to learn of the network from.",
    "remotesigninghost": "HOST:PORT of the lnd that signs.",
    "remotesigningcert": "The certificate of the lnd that signs.",
}
_FIRST: Final[Mapping[str, object]] = {
    "autopilot": False,
    "grpc": True,
    "rest": True,
    "keysend": True,
    "color": "#3399ff",
}


def setting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting but the whitelist; None is not said."""
    command = click.option(
        "--remote-macaroon-file",
        "remotesigningmacaroon",
        type=click.File(),
        help="A file with the macaroon, in hex, for the lnd that signs.",
    )(command)
    for name, sentence in reversed(list(WORDS.items())):
        command = click.option(f"--{name}", help=sentence)(command)
    for name, sentence in reversed(list(SWITCHES.items())):
        command = click.option(f"--{name}/--no-{name}", default=None, help=sentence)(
            command
        )
    return command


def said(options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the settings that were said."""
    found = {
        name: options[name]
        for name in (*SWITCHES, *WORDS)
        if options.get(name) is not None
    }
    if (file := options.get("remotesigningmacaroon")) is not None:
        found["remotesigningmacaroon"] = file.read().strip()
    return found


def of_a_new_node(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Give the settings of a new node, those that have to be said filled in."""
    return {"alias": name, **_FIRST, **said(options)}


def shown(settings: NodeSettings) -> dict[str, Any]:
    """Show settings by name; what is not set is left out."""
    every = msgspec.structs.asdict(settings)
    return {name: value for name, value in every.items() if value not in ("", None)}


def who_may(addresses: tuple[str, ...], *, nobody: bool, is_here: bool) -> list[str]:
    """Give the whitelist of a new node; it has to be said, but for a platform here."""
    if addresses and nobody:
        raise SetupError("--whitelist, --nobody: say one of them")
    if addresses or nobody:
        return list(addresses)
    if is_here:
        return ["127.0.0.1"]
    raise SetupError(
        "--whitelist: say which addresses may reach the node (this machine's, as the "
        "internet sees it), or --nobody for now"
    )
