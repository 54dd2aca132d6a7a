"""`leyden doctor --production`: what is open before an installation goes live."""

import importlib
from typing import TYPE_CHECKING

from leyden.cli.output import print_json
from leyden.values import asdict

if TYPE_CHECKING:
    from leyden.app.production import Result
    from leyden.services.platform import Platform


def examined(*, as_json: bool) -> int:
    """Try each item, print it as it is tried, and return the exit code."""
    # Imported here: `leyden doctor` alone has to work where little is installed.
    production = importlib.import_module("leyden.app.production")
    running = importlib.import_module("leyden.cli.operator.running")

    async def tried(platform: "Platform") -> "list[Result]":
        found = []
        async for each in production.examine(platform):
            found.append(each)
            if not as_json:
                print(f"{'TO DO' if each.to_do else 'ok   '}  {each.what}", flush=True)
                if each.to_do:
                    print(f"       {each.to_do}", flush=True)
        return found

    results = running.on_shop(tried)
    open_ = sum(bool(each.to_do) for each in results)
    if as_json:
        print_json({"open": open_, "items": [asdict(each) for each in results]})
    else:
        print(f"\n{open_} of {len(results)} are open" if open_ else "\nready")
    return int(bool(open_))
