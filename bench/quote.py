"""B4: what a quote costs, beside the least that a server can do with the same request.

    ./leyden bench quote [ROUNDS]

A quote reads the key, prices the channel, and looks for the quote on record and for the
credit there is. The raw application on the same server answers the same bytes.
"""

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

from bench.contenders import contender
from bench.installation import prepare, served
from bench.load import ask
from bench.measure import Figures, Report, turns

_BODY = '{"capacity": 1000000}'


def main(rounds: int = 10) -> int:
    """Measure and report."""
    speed, work = Figures(), Figures()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        customer = prepare(folder)
        ours = stack.enter_context(served(folder))
        headers = {"X-SERVICE-AUTH": customer.key}
        kept = folder / "quote.json"
        asked = Request(
            f"{ours.url}/flow/quote",
            data=_BODY.encode(),
            headers={**headers, "Content-Type": "application/json"},
        )
        with urlopen(asked) as answer:
            kept.write_bytes(answer.read())
        contenders = {
            "quote": ours,
            "raw": stack.enter_context(contender("raw", kept)),
            "raw again": stack.enter_context(contender("raw", kept)),
        }
        for name in turns(list(contenders), rounds=rounds):
            target = contenders[name]
            load = ask(
                f"{target.url}/flow/quote",
                target.pid,
                headers=headers,
                seconds=1,
                body=_BODY,
            )
            speed.add(name, load.per_second)
            work.add(name, 1 / load.cpu_us)
    report = Report("B4 quote: SQLite, 32 connections, keep-alive")
    for name in contenders:
        micro = 1 / work.median(name)
        report.note(f"{name}: {speed.median(name):,.0f}/s, {micro:.0f} us each")
    for figures, what in ((speed, "requests/s"), (work, "requests/processor-s")):
        null = figures.ratio("raw again", "raw", what=f"{what}: raw again / raw")
        report.null(null)
        ratio = figures.ratio("quote", "raw", what=f"{what}: quote / raw")
        report.at_least(0.4, ratio)
    return report.end()


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
