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
        because="Zeus pays, receives and manages channels, and bakes no macaroons.",
    ),
    Recipe(
        slug="btcpay",
        name="BTCPay Server",
        preset="shop",
        because="A shop creates and watches invoices, and spends nothing.",
    ),
    Recipe(
        slug="lnbits",
        name="LNbits",
        preset="accounts",
        because=(
            "LNbits pays and receives over channels, and doesn't use on-chain coins."
        ),
    ),
    Recipe(
        slug="thunderhub",
        name="ThunderHub",
        preset="wallet",
        because="ThunderHub manages channels, coins and payments.",
    ),
    Recipe(
        slug="rtl",
        name="RTL",
        preset="wallet",
        because="Ride The Lightning manages channels, coins and payments.",
    ),
    Recipe(
        slug="albyhub",
        name="Alby Hub",
        preset="wallet",
        because="Alby Hub pays, receives and manages channels for its apps.",
    ),
    Recipe(
        slug="lncli",
        name="lncli",
        preset="wallet",
        because="All commands work except baking and revoking macaroons.",
    ),
    Recipe(
        slug="curl",
        name="curl",
        preset="read-only",
        because=(
            "This example only reads. Choose more permissions if your script needs "
            "them."
        ),
    ),
    Recipe(
        slug="python",
        name="Python",
        preset="read-only",
        because=(
            "This example only reads. Choose more permissions if your program needs "
            "them."
        ),
    ),
    Recipe(
        slug="javascript",
        name="JavaScript",
        preset="read-only",
        because=(
            "This example only reads. Choose more permissions if your program needs "
            "them."
        ),
    ),
    Recipe(
        slug="go",
        name="Go",
        preset="read-only",
        because=(
            "This example only reads. Choose more permissions if your program needs "
            "them."
        ),
    ),
)
