"""Applying, reading and removing egress policies with nft."""

import contextlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

from leyden.errors import SetupError
from leyden.nodes.runtimes.local.egress_policy import (
    CHAIN,
    PREFIX,
    EgressPolicy,
    table_of,
)
from leyden.values import Struct

_NFT: Final = shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin")
_WITHIN_S: Final = 20


def unavailable_reason() -> str:
    """Return why no egress policy can be applied here; "" when one can."""
    if _NFT is None:
        return "nft is not installed"
    try:
        _run("list", "tables")
    except SetupError as error:
        return error.message
    return ""


def apply(policy: EgressPolicy, known: "Policies | None" = None) -> None:
    """Replace the policy atomically: there is no moment without one.

    Refused if another installation's policy covers some of the same users: each would
    apply its rules to the other's nodes. A caller that has just read the policies
    passes them as `known`: reading them costs a start some milliseconds.
    """
    first, last = policy.users
    for table, held in (applied() if known is None else known).items():
        low, high = held.users
        if table != policy.table and low <= last and first <= high:
            raise SetupError(
                f"nodes_first_uid: users {low}-{high} are those of another "
                f"installation (nft table inet {table}); set nodes_first_uid to the "
                "first of a block that is free, or end that one's nodes with "
                "`leyden down --nodes`"
            )
    _run("-f", "-", stdin=policy.rules())


def remove_abandoned() -> "Policies":
    """Remove unused policies of homes that are gone; return the remaining policies.

    A home that was removed without `leyden down --nodes` leaves its policy behind,
    which would reserve its users forever.
    """
    stay = {}
    for table, held in applied().items():
        if held.home.exists() or held.is_used():
            stay[table] = held
        else:
            with contextlib.suppress(SetupError):  # it was just removed
                _run("delete", "table", "inet", table)
    return stay


def is_applied(policy: EgressPolicy) -> bool:
    """Return whether the policy is in place; flushing nftables removes it."""
    return policy.table in applied()


def remove(home: Path) -> bool:
    """Remove the policy of an installation; return whether there was one."""
    if unavailable_reason():
        return False
    try:
        _run("delete", "table", "inet", table_of(home))
    except SetupError:  # there is none
        return False
    return True


class AppliedPolicy(Struct, frozen=True):
    """The metadata of a policy in place."""

    users: tuple[int, int]
    home: Path

    def is_used(self) -> bool:
        """Return whether any of these users runs a process."""
        first, last = self.users
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if first <= process.stat().st_uid <= last:
                    return True
        return False


Policies = dict[str, AppliedPolicy]  # by their tables


def applied() -> Policies:
    """Return the policies of all installations here."""
    found: Policies = {}
    for each in _listed("--terse", "list", "ruleset", "inet"):
        rule = each.get("rule", {})
        if rule.get("chain") != CHAIN or not rule["table"].startswith(PREFIX):
            continue
        for expression in rule["expr"]:
            match = expression.get("match", {})
            if match.get("left") == {"meta": {"key": "skuid"}}:
                low, high = match["right"]["range"]
                found[rule["table"]] = AppliedPolicy(
                    (low, high), Path(rule.get("comment", "/"))
                )
    return found


def _listed(*words: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(_run("-j", *words))["nftables"]
    return listed


def _run(*words: str, stdin: str = "") -> str:
    try:
        done = subprocess.run(
            [_NFT or "nft", *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"can't run nft: {error}") from None
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise SetupError(f"nft {' '.join(words)}: {why}")
    return done.stdout
