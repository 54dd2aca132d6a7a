"""Apps that use a node, each with the macaroon it needs.

The steps are in `templates/wallet/recipes/`, in a file of the app's name.
"""

from typing import Final

from leyden.values import Struct


class Recipe(Struct, frozen=True, kw_only=True):
    """An app, the preset for its macaroon, and why that one."""

    slug: str
    name: str
    preset: str
    because: str


RECIPES: Final = (
    Recipe(
        slug="zeus",
        name="Zeus",
        preset="wallet",
        because="Zeus pays, receives and manages channels. It bakes no macaroons.",
    ),
    Recipe(
        slug="btcpay",
        name="BTCPay Server",
        preset="shop",
        because="A shop creates invoices and watches them. It spends nothing.",
    ),
    Recipe(
        slug="lnbits",
        name="LNbits",
        preset="accounts",
        because="LNbits pays and receives over channels. It leaves coins alone.",
    ),
    Recipe(
        slug="thunderhub",
        name="ThunderHub",
        preset="wallet",
        because="ThunderHub manages channels, coins and payments.",
    ),
    Recipe(
        slug="lncli",
        name="lncli",
        preset="wallet",
        because="Every command works but those that bake or revoke macaroons.",
    ),
    Recipe(
        slug="curl",
        name="curl",
        preset="read-only",
        because="This example only reads. Choose more if your script does more.",
    ),
    Recipe(
        slug="python",
        name="Python",
        preset="read-only",
        because="This example only reads. Choose more if your program does more.",
    ),
    Recipe(
        slug="javascript",
        name="JavaScript",
        preset="read-only",
        because="This example only reads. Choose more if your program does more.",
    ),
    Recipe(
        slug="go",
        name="Go",
        preset="read-only",
        because="This example only reads. Choose more if your program does more.",
    ),
)
