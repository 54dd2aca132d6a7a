"""What a tool changes in the code about money, and which changes no test notices.

    python -m tests.mutants [WORD]

has mutmut change each line of these modules (those with the word in their name) and run
the tests beside them. A change that no test notices, a survivor, is on the list of
`tests/accepted_mutants.toml` with the reason why it may, or it is shown and this fails.
A survivor is known by its function and its changed lines: mutmut's numbers move.

What a tool cannot make, above all what stands in SQL, the order of steps and locks, is
on the list of `tests/mutations.py`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ACCEPTED = Path(__file__).with_name("accepted_mutants.toml")
_COPIED = ("src", "tests", "docs", "pyproject.toml")
_IN_PAIRS = os.cpu_count() or 2
_SETTINGS = """
[tool.mutmut]
source_paths = ["src"]
only_mutate = ["src/leyden/{module}"]
do_not_mutate_patterns = ['\\blog\\.', '\\braise ']
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", {only}]
use_git_change_detection = false
track_dependencies = false
timeout_constant = 4.0
timeout_multiplier = 8.0
"""


@dataclass(frozen=True)
class Mutated:
    """A module, and the tests that are to notice what changes in it."""

    module: str  # below src/leyden
    tests: tuple[str, ...]


def _of(module: str, *tests: str) -> Mutated:
    return Mutated(module, tuple(f"tests/{each}" for each in tests))


MODULES = (
    _of("channels/rules/ledger.py", "channels/rules/test_ledger.py"),
    _of("channels/rules/customer_ledger.py", "channels/rules/test_customer_ledger.py"),
    _of("channels/rules/orders.py", "channels/rules/test_orders.py"),
    _of("channels/rules/pricing.py", "channels/rules/test_pricing.py"),
    _of("channels/rules/payments.py", "channels/rules/test_payments.py"),
    _of("events/rules/deliveries.py", "events/rules/test_deliveries.py"),
    _of("nodes/rules/node_moves.py", "nodes/rules/test_node_moves.py"),
    _of("nodes/rules/observations.py", "nodes/rules/test_observations.py"),
    _of("events/rules/webhooks.py", "events/rules/test_webhooks.py"),
    _of("base/rules/accounts.py", "base/rules/test_accounts.py"),
    _of("people/rules/keys.py", "people/rules/test_keys.py"),
    _of("nodes/rules/whitelist.py", "nodes/rules/test_whitelist.py"),
    _of(
        "base/rules/units.py",
        "base/rules/test_units.py",
        "channels/rules/test_payments.py",
    ),
    _of("channels/rules/sources.py", "channels/rules/test_sources.py"),
    _of("channels/rules/destinations.py", "channels/rules/test_destinations.py"),
    _of("nodes/rules/public_keys.py", "channels/rules/test_destinations.py"),
    _of("channels/direct/rules/openings.py", "channels/rules/test_openings.py"),
    _of("channels/direct/rules/fundings.py", "channels/rules/test_fundings.py"),
    _of("channels/direct/rules/lsps1.py", "channels/rules/test_lsps1.py"),
    _of("channels/tickets/rules/auction.py", "channels/rules/test_auction.py"),
    _of(
        "channels/checkout.py",
        "channels/test_checkout.py",
        "channels/test_tickets.py",
        "channels/test_settlement.py",
        "channels/test_hearing.py",
        "channels/test_payment_updates.py",
    ),
    _of(
        "channels/unit_of_work.py",
        "channels/test_holding.py",
        "channels/test_unit_of_work.py",
    ),
    _of(
        "channels/holding.py",
        "channels/test_holding.py",
        "channels/test_filling.py",
        "channels/test_unused_fees.py",
    ),
    _of("channels/refunds.py", "channels/test_refunds.py", "channels/test_tickets.py"),
    _of("channels/outputs.py", "channels/test_booking.py"),
    _of("channels/invoices.py", "channels/test_booking.py"),
    _of("channels/expiry.py", "channels/test_expiry.py", "channels/test_settlement.py"),
    _of(
        "channels/money/credit.py",
        "channels/test_credit.py",
        "channels/test_coupons.py",
    ),
    _of(
        "channels/direct/reservations.py",
        "channels/test_reservations.py",
        "channels/test_lsps1_limits.py",
    ),
    _of("channels/direct/seller_balance.py", "channels/test_seller_balance.py"),
    _of("channels/direct/zero_conf.py", "channels/test_zero_conf.py"),
    _of(
        "channels/sources.py",
        "channels/test_channel_sources.py",
        "channels/test_ordering.py",
    ),
    _of(
        "channels/tickets/ticket_source.py",
        "channels/test_channel_sources.py",
        "channels/test_checkout.py",
        "channels/test_tickets.py",
        "channels/test_settlement.py",
    ),
    _of("channels/direct/direct_source.py", "channels/test_channel_sources.py"),
    _of(
        "channels/direct/lsps1/limits.py",
        "channels/test_lsps1_limits.py",
        "channels/test_lsps1.py",
    ),
    _of("channels/direct/lsps1/answers.py", "channels/test_lsps1_answers.py"),
)


@dataclass(frozen=True, order=True)
class Survivor:
    """A change that no test noticed."""

    function: str  # with its module: leyden.channels.rules.pricing.quote
    before: str
    after: str


def accepted() -> dict[Survivor, str]:
    """Return those that may survive, and why."""
    rows = tomllib.loads(_ACCEPTED.read_text()).get("accepted", [])
    return {
        Survivor(each["function"], each["before"], each["after"]): each["reason"]
        for each in rows
    }


def survivors(mutated: Mutated) -> tuple[int, list[Survivor]]:
    """Change each line of a module; return how many changes there were, who lived."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _copy(mutated, folder)
        _mutmut(folder, "run", "--max-children", str(_IN_PAIRS))
        lines = _mutmut(folder, "results", "--all", "true").splitlines()
        ended = dict(line.strip().rsplit(": ", 1) for line in lines if ": " in line)
        if not ended or "not checked" in ended.values():
            raise RuntimeError(f"{mutated.module}: mutmut did not come to its end")
        lived = [each for each, how in ended.items() if how in {"survived", "no tests"}]
        return len(ended), sorted(
            _survivor(each, _mutmut(folder, "show", each)) for each in lived
        )


def collect(tests: Iterable[str]) -> str:
    """Import these tests in a copy, as mutmut has it; return what pytest says of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _copy(MODULES[0], folder)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-qq", *tests],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        return "" if done.returncode == 0 else done.stdout + done.stderr


def _copy(mutated: Mutated, folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    for each in _COPIED:
        if (ROOT / each).is_dir():
            shutil.copytree(ROOT / each, folder / each, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / each, folder / each)
    with (folder / "pyproject.toml").open("a") as settings:
        settings.write(
            _SETTINGS.format(
                module=mutated.module,
                tests=list(mutated.tests),
                only='"-k", "not postgres"',
            )
        )


def _mutmut(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"mutmut {words[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def _survivor(name: str, shown: str) -> Survivor:
    lines = shown.splitlines()
    changed = [each for each in lines if not each.startswith(("---", "+++", "#"))]
    return Survivor(
        name.rpartition("__mutmut_")[0].replace(".x_", ".").replace("xǁ", ""),
        "\n".join(each[1:].strip() for each in changed if each.startswith("-")),
        "\n".join(each[1:].strip() for each in changed if each.startswith("+")),
    )


def main(word: str = "") -> int:
    """Change the modules, and print each survivor that is not accepted."""
    known, new = accepted(), 0
    for mutated in MODULES:
        if word not in mutated.module:
            continue
        began = time.monotonic()
        count, lived = survivors(mutated)
        unknown = [each for each in lived if each not in known]
        new += len(unknown)
        print(  # noqa: T201  this is how it tells
            f"{mutated.module}: {count} changes, {len(lived)} survived, "
            f"{len(unknown)} not accepted, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for each in unknown:
            print(f"\n[[accepted]]\nfunction = {each.function!r}")  # noqa: T201
            print(f"before = {each.before!r}\nafter = {each.after!r}\nreason = ''")  # noqa: T201
    return min(new, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
