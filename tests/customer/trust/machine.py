"""A machine of a test's own: a person's home, and a system's store that is a copy."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.certificates.constraints import CertificateScope
from leyden.nodes.certificates.constraints import scope as scope_of_names
from tests.programs import require

LISTED = Path("/etc/ca-certificates.conf")
_FEW = 3  # of the system's own: each is looked at whenever one is added
OURS = scope_of_names(["nodes.localhost", "localhost", "127.0.0.1"])
# What is bound hides the machine's own folders, for this command and what it starts.
ALONE = """
mount --bind "$1" /usr/local/share/ca-certificates &&
mount --bind "$2" /etc/ssl/certs &&
mount --bind "$3" /etc/ca-certificates.conf &&
shift 3 && exec "$@"
"""


@dataclass
class Machine:
    folder: Path

    @property
    def person(self) -> Path:
        return self.folder / "person"

    @property
    def anchors(self) -> Path:
        return self.folder / "anchors"

    @property
    def bundles(self) -> Path:
        return self.folder / "bundles"

    @property
    def listed(self) -> Path:
        return self.folder / "ca-certificates.conf"

    @property
    def platform(self) -> Path:
        return self.folder / "platform"

    @property
    def root(self) -> Path:
        return self.platform / "authority" / "root.pem"

    def authority(self, scope: CertificateScope | None = OURS) -> Authority:
        """Make the platform's authority; the second time another one."""
        shutil.rmtree(self.platform, ignore_errors=True)
        self.platform.mkdir()
        folder = self.platform / "authority"
        return open_or_create(folder, now=datetime.now(UTC), scope=scope)

    def run(
        self, *words: str | Path, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        alone = ["unshare", "--mount", "--propagation", "private"]
        return subprocess.run(
            [
                *(*alone, "sh", "-c", ALONE, "sh"),
                *(self.anchors, self.bundles, self.listed),
                *words,
            ],
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=100,
        )

    def leyden(
        self, *words: str | Path, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        code = "from leyden.app.main import main; main()"
        return self.run(sys.executable, "-c", code, *words, **environment)

    @property
    def environment(self) -> dict[str, str]:
        stored = {
            name: os.environ[name]
            for name in ("PATH", "PYTHONPATH", "LANG")
            if name in os.environ
        }
        return {
            **stored,
            "HOME": str(self.person),
            "LEYDEN_HOME": str(self.platform),
        }


def made(folder: Path) -> Machine:
    if os.geteuid() != 0:
        pytest.skip("only root can have a mount namespace with stores of its own")
    for program in ("unshare", "update-ca-certificates", "certutil"):
        require(program)
    machine = Machine(folder)
    for each in (machine.person, machine.anchors):
        each.mkdir(parents=True)
    machine.bundles.mkdir()
    listed = [
        line for line in LISTED.read_text().split() if line.startswith("mozilla/")
    ]
    machine.listed.write_text("\n".join(listed[:_FEW]) + "\n")
    machine.run("update-ca-certificates")
    return machine


def database(folder: Path, *, password: str = "") -> Path:
    """Make a database as a browser would at its first start."""
    folder.mkdir(parents=True)
    words = ["--empty-password"]
    if password:
        (folder / "password").write_text(password)
        words = ["-f", str(folder / "password")]
    certutil(folder, "-N", *words)
    return folder


def certutil(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["certutil", "-d", f"sql:{folder}", *words],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def names(folder: Path) -> dict[str, str]:
    """Return what is in a database, and for what it is trusted."""
    lines = certutil(folder, "-L").splitlines()[4:]
    rows = [line.rpartition(" ") for line in (each.rstrip() for each in lines) if line]
    return {name.strip(): flags for name, _, flags in rows}
