"""How often Python looks for garbage that refers to itself."""

import gc

_NEW = 10_000
_ROUNDS = 20


def collect_seldom() -> None:
    """Look every 10,000 new objects instead of 700.

    To be called before anything else is imported: looking again and again through what
    grows, where nothing is garbage, was a sixth of every start. Later on nearly all of
    our garbage goes at once, by its count of references; among a thousand requests or
    deliveries under way looking for the rest was a twelfth of all we did.
    """
    gc.set_threshold(_NEW, _ROUNDS, _ROUNDS)


def keep_what_is_here() -> None:
    """Never look again at what there is by now: the program itself."""
    gc.freeze()
