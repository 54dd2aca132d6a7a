"""Create a folder and a volume for each claim that needs one, and remove them.

The program lists, then watches; whenever a watch ends it lists again, so that nothing
is missed for long. Each step can be repeated.

    python -m leyden_workshop.devcluster.provisioner API PKI FOLDER
"""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from leyden_workshop.devcluster import storage
from leyden_workshop.devcluster.api import ApiAway, ApiRefused, ClusterApi, opened
from leyden_workshop.devcluster.credentials import Credentials
from leyden_workshop.devcluster.storage import Object

_CLAIMS: Final = "/api/v1/persistentvolumeclaims"
_VOLUMES: Final = "/api/v1/persistentvolumes"
_AGAIN_S: Final = 1.0
_GONE: Final = "DELETED"
_FAULT: Final = "ERROR"


async def run(server: str, own: Credentials, cluster: Path) -> None:
    """Provide and remove volumes until cancelled."""

    async def provide(claim: Object) -> None:
        if (machine := storage.wanting(claim)) is not None:
            name = storage.volume_name(claim)
            folder = storage.folder(cluster, machine, name)
            folder.mkdir(mode=0o755, exist_ok=True)
            if await api.create(_VOLUMES, storage.volume(claim, machine)):
                _say(f"created {name} on {machine}")

    async def remove(volume: Object) -> None:
        if (machine := storage.to_remove(volume)) is not None:
            name = volume["metadata"]["name"]
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(storage.folder(cluster, machine, name))
            await api.delete(f"{_VOLUMES}/{name}")
            _say(f"removed {name} from {machine}")

    pair = own.pair("provisioner")
    async with opened(server, own.authority.certificate, pair) as api:
        await asyncio.gather(_each(api, _CLAIMS, provide), _each(api, _VOLUMES, remove))


async def _each(
    api: ClusterApi, path: str, step: Callable[[Object], Awaitable[None]]
) -> None:
    """Call `step` for each existing object, and for each change."""
    while True:
        try:
            found = await api.get(path)
            for each in found["items"]:
                await step(each)
            version = found["metadata"]["resourceVersion"]
            async for kind, each in api.watch(path, version):
                if kind == _FAULT:
                    break
                if kind != _GONE:
                    await step(each)
        except (ApiAway, ApiRefused, OSError) as error:
            _say(f"{path}: {error}")
            await asyncio.sleep(_AGAIN_S)


def _say(line: str) -> None:
    print(time.strftime("%H:%M:%S"), line, flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Credentials(Path(sys.argv[2])), Path(sys.argv[3])))
