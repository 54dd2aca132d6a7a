"""`leyden doctor --production` and `--cluster`: what is open, each item tried."""

import asyncio
import importlib
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from leyden.base import settings
from leyden.base.cli.output import print_json
from leyden.base.settings.private_chain import running_settings
from leyden.values import asdict

if TYPE_CHECKING:
    from leyden.base.platform import Platform
    from leyden.operators.production import Result


def examined(*, as_json: bool) -> int:
    """Try each item, print it as it is tried, and return the exit code."""
    # Imported here: `leyden doctor` alone has to work where little is installed.
    production = importlib.import_module("leyden.operators.production")
    running = importlib.import_module("leyden.channels.cli.running")

    async def tried(platform: "Platform") -> "list[Result]":
        return await _printed(production.examine(platform), as_json=as_json)

    return _report(running.on_channels(tried), as_json=as_json)


def examined_cluster(*, as_json: bool) -> int:
    """Do the same for the cluster of the settings, or of `leyden up`."""
    doctor = importlib.import_module("leyden.operators.production.cluster_doctor")
    trying = doctor.examine(running_settings(settings.load(os.environ)))
    return _report(asyncio.run(_printed(trying, as_json=as_json)), as_json=as_json)


async def _printed(
    results: "AsyncIterator[Result]", *, as_json: bool
) -> "list[Result]":
    found = []
    async for each in results:
        found.append(each)
        if not as_json:
            print(f"{_mark(each)}  {each.what}", flush=True)
            if each.to_do:
                print(f"       {each.to_do}", flush=True)
    return found


def _mark(result: "Result") -> str:
    if not result.to_do:
        return "ok   "
    return "note " if result.is_optional else "TO DO"


def _report(results: "list[Result]", *, as_json: bool) -> int:
    open_ = sum(bool(each.to_do) and not each.is_optional for each in results)
    if as_json:
        print_json({"open": open_, "items": [asdict(each) for each in results]})
    else:
        print(f"\n{open_} of {len(results)} checks failed" if open_ else "\nready")
    return int(bool(open_))
