"""How often Python looks for garbage that refers to itself."""

import gc

_NEW = 10_000
_ROUNDS = 20


def collect_seldom() -> None:
    """Look every 10,000 new objects instead of 700, and at our code never again.

    To be called once, when everything is imported. Nearly all of our garbage goes at
    once, by its count of references; among a thousand requests or deliveries under way
    looking for the rest as often as Python does was a twelfth of all we did.
    """
    gc.freeze()
    gc.set_threshold(_NEW, _ROUNDS, _ROUNDS)
