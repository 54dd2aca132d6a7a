"""Which option of lnd each setting becomes: one line per setting, in contract order.

Each key knows the versions of lnd that have it; what a version lacks is not written,
because lnd does not start with an option it does not know.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from leyden.domain import remote_signers
from leyden.domain.node_settings import NodeSettings
from leyden.domain.versions import Version
from leyden.values import Struct

SIGNER_MACAROON: Final = "remote-signer.mac"  # not *.macaroon: those are swept
SIGNER_CERTIFICATE: Final = "remote-signer.cert"

# A setting's value and the node's home in, the option's value out; "" is not written.
Write = Callable[[object, Path], str]


class Key(Struct, frozen=True):
    """The name of an option, and the versions of lnd that know it."""

    name: str
    since: Version | None = None  # the first that has it
    until: Version | None = None  # the first that has it no more

    def known_to(self, version: Version) -> bool:
        """Tell whether this version may be given it."""
        return (self.since is None or version >= self.since) and (
            self.until is None or version < self.until
        )


class Option(Struct, frozen=True):
    """A key, and how a setting is written for it."""

    key: Key
    write: Write


def _switch(name: str) -> Option:
    return Option(Key(name), lambda value, _: "true" if value else "false")


def _text(name: str) -> Option:
    return Option(Key(name), lambda value, _: str(value))


def _file(name: str, file: str) -> Option:
    return Option(Key(name), lambda value, home: str(home / file) if value else "")


def _host(name: str) -> Option:
    return Option(
        Key(name),
        lambda value, _: remote_signers.check_host(str(value), field=name),
    )


# None: honoured by the gateway or the webhooks. lnd serves REST and gRPC on its private
# address whatever is chosen, because the platform has to watch it.
SETTINGS: Final[Mapping[str, Option | None]] = {
    "autopilot": _switch("autopilot.active"),
    "grpc": None,
    "rest": None,
    "keysend": _switch("accept-keysend"),
    "whitelist": None,
    "alias": _text("alias"),
    "color": _text("color"),
    "wumbo": _switch("protocol.wumbo-channels"),
    "webhook": None,
    "minchansize": _text("minchansize"),
    "maxchansize": _text("maxchansize"),
    "autocompaction": _switch("db.bolt.auto-compact"),
    "defaultfeerate": _text("bitcoin.feerate"),
    "basefee": _text("bitcoin.basefee"),
    "amp": _switch("accept-amp"),
    "wtclient": _switch("wtclient.active"),
    "maxpendingchannels": _text("maxpendingchannels"),
    "allowcircularroute": _switch("allow-circular-route"),
    "numgraphsyncpeers": _text("numgraphsyncpeers"),
    "gccanceledinvoicesonstartup": _switch("gc-canceled-invoices-on-startup"),
    "gccanceledinvoicesonthefly": _switch("gc-canceled-invoices-on-the-fly"),
    "torskipproxyforclearnettargets": _switch("tor.skip-proxy-for-clearnet-targets"),
    "rpcmiddleware": _switch("rpcmiddleware.enable"),
    "optionscidalias": _switch("protocol.option-scid-alias"),
    "zeroconf": _switch("protocol.zero-conf"),
    "remotesigning": _switch("remotesigner.enable"),
    "remotesigninghost": _host("remotesigner.rpchost"),
    "remotesigningmacaroon": _file("remotesigner.macaroonpath", SIGNER_MACAROON),
    "remotesigningcert": _file("remotesigner.tlscertpath", SIGNER_CERTIFICATE),
}
_ONLY_WITH_A_SIGNER: Final = frozenset(
    {"remotesigninghost", "remotesigningmacaroon", "remotesigningcert"}
)


def lines(
    settings: NodeSettings,
    version: Version,
    home: Path,
    *,
    table: Mapping[str, Option | None] = SETTINGS,
) -> Iterator[tuple[str, str]]:
    """Give the options that this version of lnd gets for these settings."""
    for name, option in table.items():
        if option is None or not option.key.known_to(version):
            continue
        if name in _ONLY_WITH_A_SIGNER and not settings.remotesigning:
            continue
        value = option.write(getattr(settings, name), home)
        if value:
            yield option.key.name, value
