"""Generator of stubs/ from the protocol of poold's release.

    .venv/bin/python -m leyden.channels.tickets.generate

Needs Go, which fetches the files, and the tools of `./leyden check`. The
output is committed: installations that only run Leyden need neither.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

# As poold 0.7.1 is built (base/daemons/pool-0.7.1/go.mod).
_POOL = "github.com/lightninglabs/pool"
_PROTOCOLS = {
    "trader": f"{_POOL}/poolrpc@v1.0.1",
    "auctioneer": f"{_POOL}/auctioneerrpc@v1.1.3",
}
_PACKAGE = "leyden/channels/tickets/stubs"
_SOURCES = Path(__file__).parents[3]


def main() -> None:
    """Fetch the protocols and generate their Python modules."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / _PACKAGE
        where.mkdir(parents=True)
        for name, module in _PROTOCOLS.items():
            text = (_fetched(module, folder) / f"{name}.proto").read_text()
            # Python looks for an imported protocol where its path says.
            (where / f"{name}.proto").write_text(
                text.replace('import "auctioneerrpc/', f'import "{_PACKAGE}/')
            )
        subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc", "-I", folder),
                *(f"--python_out={_SOURCES}", f"--pyi_out={_SOURCES}"),
                *(f"{_PACKAGE}/{name}.proto" for name in _PROTOCOLS),
            ],
            cwd=folder,
            check=True,
        )


def _fetched(module: str, folder: str) -> Path:
    """Return the folder of a Go module."""
    download = subprocess.run(
        ["go", "mod", "download", "-json", module],  # noqa: S607  as on the PATH
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return Path(json.loads(download.stdout)["Dir"])


if __name__ == "__main__":
    main()
