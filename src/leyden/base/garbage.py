"""Settings of Python's garbage collector for reference cycles."""

import gc

_NEW = 10_000
_ROUNDS = 20


def freeze() -> None:
    """Never look again at what there is by now, the program itself; else look seldom.

    Look every 10,000 new objects instead of 700. Nearly all of our garbage goes at
    once, by its count of references; among a thousand requests or deliveries under way
    looking for the rest was a twelfth of all we did.
    """
    gc.freeze()
    gc.set_threshold(_NEW, _ROUNDS, _ROUNDS)
