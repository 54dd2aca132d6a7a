"""Every setting of a node, as a form asks for it: what it does, and what it costs."""

from collections.abc import Mapping
from typing import Final

from leyden.domain.node_settings import LIVE
from leyden.values import Struct
from leyden.web.forms import Form

YES = "yes"


class Field(Struct, frozen=True, kw_only=True):
    """One setting in a form."""

    name: str
    label: str
    help: str
    kind: str = "tick"  # or digits, text, color, area, secret

    @property
    def restarts(self) -> bool:
        """Tell whether lnd has to be started again to honour a change."""
        return self.name not in LIVE

    def read(self, form: Form) -> object:
        """Give what was filled in, as the service takes it."""
        if self.kind == "tick":
            return form.ticked(self.name)
        if self.kind == "area":
            return form.text(self.name).replace("\r\n", "\n")
        return form.text(self.name)


class Group(Struct, frozen=True, kw_only=True):
    """Settings that belong together."""

    title: str
    fields: tuple[Field, ...]


FIRST: Final = Group(
    title="How it shows itself",
    fields=(
        Field(
            name="alias",
            label="Alias",
            help="The name that other nodes see, at most 32 bytes. "
            "Empty: its name here.",
            kind="text",
        ),
        Field(
            name="color",
            label="Colour",
            help="How maps of the network draw it.",
            kind="color",
        ),
        Field(
            name="rest",
            label="REST",
            help="Let it be reached over REST: browsers, wallets, curl.",
        ),
        Field(
            name="grpc",
            label="gRPC",
            help="Let it be reached over gRPC: lncli and most libraries.",
        ),
        Field(
            name="keysend",
            label="Keysend",
            help="Take payments that nobody has made an invoice for.",
        ),
        Field(
            name="autopilot",
            label="Autopilot",
            help="Let lnd open channels by itself with the coins it has.",
        ),
    ),
)

MORE: Final = (
    Group(
        title="Channels",
        fields=(
            Field(
                name="wumbo",
                label="Large channels",
                help="Allow channels above 16,777,215 sat.",
            ),
            Field(
                name="minchansize",
                label="Smallest channel",
                help="In sat; what peers open below it is refused. Empty: 20,000.",
                kind="digits",
            ),
            Field(
                name="maxchansize",
                label="Largest channel",
                help="In sat; what peers open above it is refused. Empty: no limit "
                "of its own.",
                kind="digits",
            ),
            Field(
                name="maxpendingchannels",
                label="Pending channels of a peer",
                help="How many channels one peer may be opening at a time. Empty: 1.",
                kind="digits",
            ),
            Field(
                name="optionscidalias",
                label="Channel aliases",
                help="Let invoices name private channels by an alias.",
            ),
            Field(
                name="zeroconf",
                label="Channels without confirmation",
                help="Take channels that are usable at once from peers you trust. "
                "Needs channel aliases.",
            ),
        ),
    ),
    Group(
        title="Routing and payments",
        fields=(
            Field(
                name="basefee",
                label="Base fee",
                help="In thousandths of a sat, for each payment that is forwarded. "
                "Empty: 1,000.",
                kind="digits",
            ),
            Field(
                name="defaultfeerate",
                label="Fee rate",
                help="In millionths of what is forwarded. Empty: 1.",
                kind="digits",
            ),
            Field(
                name="amp",
                label="AMP",
                help="Take payments that arrive in parts by several ways.",
            ),
            Field(
                name="allowcircularroute",
                label="Circular routes",
                help="Forward payments that come back over the same channel.",
            ),
            Field(
                name="numgraphsyncpeers",
                label="Peers that tell of the network",
                help="How many are asked for the whole picture. Empty: 3.",
                kind="digits",
            ),
        ),
    ),
    Group(
        title="Housekeeping",
        fields=(
            Field(
                name="wtclient",
                label="Watchtowers",
                help="Let towers that you name guard the channels while it is down.",
            ),
            Field(
                name="autocompaction",
                label="Compact its database",
                help="At each start; it then takes longer.",
            ),
            Field(
                name="gccanceledinvoicesonstartup",
                label="Forget cancelled invoices at a start",
                help="Keeps the database small.",
            ),
            Field(
                name="gccanceledinvoicesonthefly",
                label="Forget cancelled invoices at once",
                help="Keeps the database small all the time.",
            ),
            Field(
                name="rpcmiddleware",
                label="Middleware",
                help="Let a program of yours look at calls before they are run.",
            ),
            Field(
                name="torskipproxyforclearnettargets",
                label="Tor for onion addresses alone",
                help="Reach all other peers directly.",
            ),
        ),
    ),
    Group(
        title="Remote signer",
        fields=(
            Field(
                name="remotesigning",
                label="Sign elsewhere",
                help="The keys are in an lnd of yours; this one asks it to sign.",
            ),
            Field(
                name="remotesigninghost",
                label="The signer's address",
                help="HOST:PORT of its gRPC.",
                kind="text",
            ),
            Field(
                name="remotesigningmacaroon",
                label="A macaroon for the signer",
                help="In hex. Kept sealed and never shown again; leave it as it is to "
                "keep it.",
                kind="secret",
            ),
            Field(
                name="remotesigningcert",
                label="The signer's certificate",
                help="PEM.",
                kind="area",
            ),
        ),
    ),
)

EVERY: Final = tuple(field for group in (FIRST, *MORE) for field in group.fields)


def settings(form: Form) -> dict[str, object]:
    """Give all settings that a form for a new node holds."""
    return {field.name: field.read(form) for field in EVERY}


def changed(form: Form) -> dict[str, object]:
    """Give the settings that are another than the page had shown.

    What somebody else has changed meanwhile in another field stays changed.
    """
    given = {}
    for field in EVERY:
        value = field.read(form)
        was = form.text(f"was-{field.name}").replace("\r\n", "\n")
        before: object = was == YES if field.kind == "tick" else was
        if value != before:
            given[field.name] = value
    return given


def shown(values: Mapping[str, object]) -> dict[str, str]:
    """Give values as a form remembers them."""
    return {
        field.name: (YES if values[field.name] else "")
        if field.kind == "tick"
        else str(values[field.name])
        for field in EVERY
    }


def addresses(text: str) -> list[str]:
    """Read a whitelist that was typed: one a line, or with commas between."""
    return [word for word in text.replace(",", "\n").split() if word]
