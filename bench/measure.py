"""Tools of all benchmarks: fair turns, ratios, and their confidence.

A machine is never quiet, so no figure stands alone. Contenders take turns in one run,
forwards and backwards (A B B A), so that a drift of the machine hits both; each turn of
one is compared with the turn of the other beside it, and the median of those ratios is
the result. Between which bounds it lies, resampling tells. Put the base in twice under
two names: their ratio is what this run makes out of no difference at all.

    figures = Figures()
    for name in turns(["bare", "ours", "bare again"], rounds=6):
        figures.add(name, measure(name))
    report = Report("B0 a thing")
    report.null(figures.ratio("bare again", "bare"))
    report.at_least(0.95, figures.ratio("ours", "bare"))
    sys.exit(report.end())
"""

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

_RESAMPLES = 2_000
TICKS = os.sysconf("SC_CLK_TCK")


def turns(names: Sequence[str], *, rounds: int) -> Iterator[str]:
    """Yield the contenders in turns: forwards, then backwards, for these rounds."""
    for number in range(rounds):
        yield from names if number % 2 == 0 else reversed(names)


@dataclass(frozen=True)
class Ratio:
    """The ratio of two contenders, with its 95 % interval."""

    what: str
    median: float
    low: float
    high: float
    p90: float
    pairs: int

    @classmethod
    def of(cls, what: str, ratios: Sequence[float], *, seed: int = 1) -> "Ratio":
        """Sum the ratios of the pairs up; the same ones give the same bounds."""
        dice = random.Random(seed)  # noqa: S311  no secret hangs on it
        resampled = sorted(
            median(dice.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES)
        )
        return cls(
            what=what,
            median=median(ratios),
            low=resampled[int(_RESAMPLES * 0.025)],
            high=resampled[int(_RESAMPLES * 0.975)],
            p90=quantile(ratios, 0.9),
            pairs=len(ratios),
        )

    def __str__(self) -> str:
        """Write it on one line."""
        bounds = f"{self.low:.3f} to {self.high:.3f}"
        return f"{self.what}: {self.median:.3f} ({bounds}, {self.pairs} pairs)"


class Figures:
    """The measurements of each contender, in the order of turns."""

    def __init__(self) -> None:
        self._of: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, figure: float) -> None:
        """Add the result of one turn."""
        self._of[name].append(figure)

    @property
    def names(self) -> list[str]:
        """List the contenders, as they first came."""
        return list(self._of)

    def median(self, name: str) -> float:
        """Return a contender's median, for people; compare by ratios."""
        return median(self._of[name])

    def ratio(self, name: str, base: str, *, what: str = "") -> Ratio:
        """Compare turn by turn."""
        pairs = zip(self._of[name], self._of[base], strict=True)
        return Ratio.of(what or f"{name} / {base}", [ours / its for ours, its in pairs])


class Report:
    """The results against the goals; printed, and one JSON object per run."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._rows: list[dict[str, object]] = []
        print(title, flush=True)

    def note(self, sentence: str) -> None:
        """Print a note about the run."""
        self._rows.append({"note": sentence})
        print(f"  {sentence}", flush=True)

    def null(self, ratio: Ratio) -> None:
        """Print the ratio of two identical contenders."""
        self._rows.append({"null": True, **asdict(ratio)})
        print(f"  null  {ratio}", flush=True)

    def at_least(self, goal: float, ratio: Ratio) -> None:
        """Check that the median is at least a goal."""
        self._goal(ratio, f">= {goal}", met=ratio.median >= goal)

    def at_most(
        self, goal: float, ratio: Ratio, *, p90_goal: float | None = None
    ) -> None:
        """Check that the median, and the 90th percentile if asked, meet the goals."""
        self._goal(ratio, f"<= {goal}", met=ratio.median <= goal)
        if p90_goal is not None:
            text = f"p90 {ratio.p90:.3f} <= {p90_goal}"
            self._goal(ratio, text, met=ratio.p90 <= p90_goal)

    def holds(self, sentence: str, *, met: bool) -> None:
        """Check any other condition."""
        self._rows.append({"goal": sentence, "met": met})
        print(f"  {'met ' if met else 'MISS'}  {sentence}", flush=True)

    def end(self, path: Path | None = None) -> int:
        """Write the JSON if asked; return the exit code: 1 if a goal is missed.

        BENCH_JSON names the file for a whole run of benchmarks, one object a line.
        """
        path = path or (Path(os.environ["BENCH_JSON"]) if _wanted() else None)
        if path is not None:
            with path.open("a") as file:
                line = {"title": self._title, "load": os.getloadavg()[0]}
                file.write(json.dumps({**line, "rows": self._rows}) + "\n")
        return int(any(row.get("met") is False for row in self._rows))

    def _goal(self, ratio: Ratio, goal: str, *, met: bool) -> None:
        self._rows.append({"goal": goal, "met": met, **asdict(ratio)})
        print(f"  {'met ' if met else 'MISS'}  {ratio}  {goal}", flush=True)


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def cpu_seconds(*pids: int) -> float:
    """Return the processor seconds these processes have used, all threads, so far."""
    used = 0
    for pid in pids:
        # The name may hold blanks and brackets: the fields begin after the last one.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])
    return used / TICKS


def resident_kib(pid: int) -> int:
    """Return the memory a process has in RAM."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def _wanted() -> bool:
    return bool(os.environ.get("BENCH_JSON"))
