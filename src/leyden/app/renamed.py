"""Former names of commands and options: they work for one release, and say the new.

A row's former name is the first words of a command, options of it, or both. Options of
a former name may stand anywhere; those that only the new name has are added.
"""

from collections.abc import Mapping, Sequence
from typing import Final

_WALLET: Final = (
    *("init", "unlock", "password", "bake", "macaroons", "revoke"),
    *("channels", "backup", "seed", "restore", "keep", "reseal", "replaced", "drill"),
)
# The first row that fits is used, then those below it.
RENAMED: Final[Mapping[str, str]] = {
    # Since 0.1
    "till": "treasury",
    **{f"node {name}": f"wallet {name}" for name in _WALLET},
    "node macaroon": "wallet show-macaroon",
    # Since 0.2
    "flow orders": "channels list",
    "flow status": "channels show",
    "flow balance": "credit show",
    "flow ledger": "credit list",
    "flow coupons": "credit coupons",
    "flow redeem": "credit redeem",
    "claim": "channels use-ticket",
    "nodes deleted": "nodes list --deleted",
    "wallet macaroon": "wallet show-macaroon",
    "subscriptions change": "webhooks update",
    "subscriptions": "webhooks",
    "orders": "orders list --needs-attention",
    "pool abandon": "orders abandon",
    "alarms endpoints": "alarms webhooks list",
    "alarms send-to": "alarms webhooks create",
    "alarms stop-sending": "alarms webhooks delete",
    "org quota": "orgs quotas",
    "org": "orgs",
    "account": "orgs credit",
    "user operator --end": "operators remove",
    "user operator": "operators add",
    "user readmit": "users reset-password",
    "user": "users",
    "key": "api-keys",
    "coupon": "coupons",
    "home accept": "data-dir accept-copy",
    "home": "data-dir",
    "authority": "ca",
    "secrets": "encryption-keys",
    "--most": "--limit",
    "--within": "--timeout",
    "--give-up-after": "--timeout",
    "--at-once": "--concurrency",
    "--unattended": "--hide-seed",
    "--nobody": "--allow-none",
}
# These stay: the path of the API, and what is easily typed instead.
ALIASES: Final = {"flow": "channels", "node": "nodes"}
# The words behind these are for other programs.
_PASSED_ON: Final = {"test", "bench"}


def current(typed: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the words in their present names, and the rows that were used."""
    words = [*typed]
    used: list[tuple[str, str]] = []
    if words and words[0] in _PASSED_ON:
        return words, used
    for former, now in RENAMED.items():
        if (found := _replaced(words, former.split(), now.split())) is not None:
            words = found
            used.append((former, now))
    if words:
        words[0] = ALIASES.get(words[0], words[0])
    return words, used


def _replaced(words: list[str], former: list[str], now: list[str]) -> list[str] | None:
    """Return the words with the former name replaced, or None if they have another."""
    names, options = _parted(former)
    new_names, new_options = _parted(now)
    places = _names(words, len(names) + 1)
    if [words[each] for each in places[: len(names)]] != names:
        return None
    # A command that has become one of a group of the same name.
    is_group = bool(names) and new_names[: len(names)] == names
    if is_group and (len(places) > len(names) or {"-h", "--help"} & {*words}):
        return None
    end = words.index("--") if "--" in words else len(words)
    found = (_place(words[:end], each) for each in options)
    at = [each for each in found if each is not None]
    if len(at) < len(options):
        return None
    replaced: list[str | None] = [*words]
    instead = [*new_options[: len(options)], *([None] * len(options))]
    for place, option, new in zip(at, options, instead, strict=False):
        value = words[place].removeprefix(option)
        replaced[place] = None if new is None else f"{new}{value}"
    first, others = places[: min(1, len(names))], places[1 : len(names)]
    for place in others:
        replaced[place] = None
    for place in first:
        replaced[place : place + 1] = [*new_names, *new_options[len(options) :]]
    return [each for each in replaced if each is not None]


def _parted(name: list[str]) -> tuple[list[str], list[str]]:
    names = [each for each in name if not each.startswith("-")]
    return names, name[len(names) :]


def _names(words: list[str], count: int) -> list[int]:
    """Return where the names of commands are: `--profile NAME` may stand between."""
    found: list[int] = []
    place = 0
    while place < len(words) and len(found) < count:
        if words[place] == "--profile":
            place += 2
            continue
        if words[place].startswith("-"):
            if not words[place].startswith("--profile="):
                break
        else:
            found.append(place)
        place += 1
    return found


def _place(words: list[str], option: str) -> int | None:
    given = (each.partition("=")[0] for each in words)
    return next((place for place, each in enumerate(given) if each == option), None)
