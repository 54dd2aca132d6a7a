"""B14: the cost of a page, against the endpoint that returns the same as JSON.

    ./leyden bench pages [ROUNDS]

The list of 100 nodes, rendered for somebody who is signed in, against the same list of
the API; and what a browser loads to show it, pictures aside.
"""

import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

from bench.installation import prepare, served
from bench.load import ask
from bench.measure import Figures, Report, turns

_NODES = 100
_HEAVIEST = 150 * 1024
_LOADED = re.compile(r'(?:src|href)="(/app/static/[^"]+\.(?:js|css))"')


def main(rounds: int = 10) -> int:
    """Measure and report."""
    speed, work = Figures(), Figures()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        customer = prepare(folder, nodes=_NODES)
        ours = stack.enter_context(served(folder))
        page = f"{ours.url}/app/{customer.organization_id}/nodes"
        listing = f"{ours.url}{customer.nodes}"
        signed_in = {"Cookie": customer.cookie(ours.url)}
        with_key = {"X-SERVICE-AUTH": customer.key}
        targets = {
            "json": (listing, with_key),
            "page": (page, signed_in),
            "json again": (listing, with_key),
        }
        for name in turns(list(targets), rounds=rounds):
            url, headers = targets[name]
            load = ask(url, ours.pid, headers=headers, seconds=1)
            speed.add(name, load.per_second)
            work.add(name, 1 / load.cpu_us)
        weights = _weights(ours.url, page, signed_in)
    report = Report(f"B14 pages: the list of {_NODES} nodes, 32 connections")
    for name in targets:
        report.note(f"{name}: {speed.median(name):,.0f}/s")
    report.null(speed.ratio("json again", "json"))
    report.at_least(0.3, speed.ratio("page", "json", what="requests/s: page / json"))
    for path, weight in weights.items():
        report.note(f"{weight:>8,} bytes  {path}")
    total = sum(weights.values())
    report.note(f"{total:>8,} bytes in all, of at most {_HEAVIEST:,}")
    return report.end() or int(total > _HEAVIEST)


def _weights(base: str, page: str, headers: dict[str, str]) -> dict[str, int]:
    """Return the bytes on the wire of a page and of what it loads, as browsers ask."""
    headers = {**headers, "Accept-Encoding": "gzip"}
    with urlopen(Request(page, headers=headers)) as answer:
        shown = answer.read()
    weights = {"the page": len(shown)}
    for path in dict.fromkeys(_LOADED.findall(shown.decode())):
        with urlopen(Request(f"{base}{path}", headers=headers)) as answer:
            weights[path.rpartition("/")[2]] = len(answer.read())
    return weights


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
