"""How often Python looks for garbage that refers to itself."""

import gc

_NEW = 10_000
_ROUNDS = 20


def collect_nothing_yet() -> None:
    """Do not look while the program is imported, where nothing is garbage.

    Looking again and again through what grows was a tenth of every start.
    """
    gc.disable()


def keep_what_is_here() -> None:
    """Never look again at what there is by now: the program itself.

    From here on look every 10,000 new objects instead of 700. Nearly all of our garbage
    goes at once, by its count of references; among a thousand requests or deliveries
    under way looking for the rest was a twelfth of all we did.
    """
    gc.freeze()
    gc.set_threshold(_NEW, _ROUNDS, _ROUNDS)
    gc.enable()
