"""Fences put up, looked at and taken down by nft, where this machine has it."""

import contextlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from leyden.errors import SetupError
from leyden.runtimes.fence import CHAIN, PREFIX, Fence, table_of
from leyden.values import Struct

_NFT: Final = shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin")
_WITHIN_S: Final = 20


def trouble() -> str:
    """Say why fences cannot be put up here; "" when they can."""
    if _NFT is None:
        return "nft is not installed"
    try:
        _run("list", "tables")
    except SetupError as error:
        return error.message
    return ""


def put_up(fence: Fence, known: "Fences | None" = None) -> None:
    """Put the fence up, or in place of the one before, in one step; no gap between.

    Refused when another installation has fenced some of the same users: the two would
    hold each other's nodes to rules that do not fit them. Who has just looked says what
    is known: each look costs a start some milliseconds.
    """
    first, last = fence.users
    for table, fenced in (fences() if known is None else known).items():
        low, high = fenced.users
        if table != fence.table and low <= last and first <= high:
            raise SetupError(
                f"nodes_first_uid: users {low}-{high} are those of another "
                f"installation (nft table inet {table}); set nodes_first_uid to the "
                "first of a block that is free, or end that one's nodes with "
                "`leyden down --nodes`"
            )
    _run("-f", "-", given=fence.rules())


def clear_away() -> "Fences":
    """Take down fences around nobody, of homes that are gone; give those that stay.

    A home that was removed without `leyden down --nodes` leaves its fence behind; it
    would keep its users from everybody else for ever.
    """
    stay = {}
    for table, fenced in fences().items():
        if fenced.home.exists() or fenced.is_used():
            stay[table] = fenced
        else:
            with contextlib.suppress(SetupError):  # taken down this very moment
                _run("delete", "table", "inet", table)
    return stay


def stands(fence: Fence) -> bool:
    """Tell whether the fence is there: whoever flushes nftables takes it away."""
    return fence.table in fences()


def take_down(home: Path) -> bool:
    """Take the fence of an installation down; tell whether there was one."""
    if trouble():
        return False
    try:
        _run("delete", "table", "inet", table_of(home))
    except SetupError:  # there is none
        return False
    return True


class Fenced(Struct, frozen=True):
    """What a fence that stands says of itself."""

    users: tuple[int, int]
    home: Path

    def is_used(self) -> bool:
        """Tell whether one of these users runs anything."""
        first, last = self.users
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if first <= process.stat().st_uid <= last:
                    return True
        return False


Fences = dict[str, Fenced]  # by their tables


def fences() -> Fences:
    """Give the fences of all installations here."""
    found: Fences = {}
    for each in _listed("--terse", "list", "ruleset", "inet"):
        rule = each.get("rule", {})
        if rule.get("chain") != CHAIN or not rule["table"].startswith(PREFIX):
            continue
        for expression in rule["expr"]:
            match = expression.get("match", {})
            if match.get("left") == {"meta": {"key": "skuid"}}:
                low, high = match["right"]["range"]
                found[rule["table"]] = Fenced(
                    (low, high), Path(rule.get("comment", "/"))
                )
    return found


def _listed(*words: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(_run("-j", *words))["nftables"]
    return listed


def _run(*words: str, given: str = "") -> str:
    try:
        done = subprocess.run(
            [_NFT or "nft", *words],
            input=given,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"nft cannot be run: {error}") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise SetupError(f"nft {' '.join(words)}: {why}")
    return done.stdout
