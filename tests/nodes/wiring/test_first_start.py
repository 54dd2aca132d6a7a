"""What an installation has once is made once, however many are told to make it."""

import subprocess
import sys
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.base import processes
from leyden.base.database.secrets import Sealer, load_keyring
from leyden.errors import SetupError
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.wiring import authorities, identity
from tests.nodes.wiring.test_authority import settings

AT_ONCE = 4
# They wait for one another, so that they begin in the same moment.
MIGRATES = """
import sys
from pathlib import Path
from leyden.base.database import sealing_keys
from leyden.app.migration import migrate
from leyden.base.database import schema
from leyden.nodes.certificates import signing
from leyden.base.settings import Settings
print("ready", flush=True)
sys.stdin.readline()
migrate(Settings(home=sys.argv[1], database_url=sys.argv[2]))
"""


def migrate_at_once(home: Path, database: str) -> list[tuple[int, str]]:
    begun = [
        subprocess.Popen(
            [sys.executable, "-c", MIGRATES, str(home), database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(AT_ONCE)
    ]
    for each in begun:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in begun:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    said = [each.communicate(timeout=60)[1] for each in begun]
    return [(each.returncode, said[at][-600:]) for at, each in enumerate(begun)]


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.long) for turn in range(1, 9))]
)
def test_replicas_that_start_at_once_make_one_of_everything(
    tmp_path: Path, turn: int, postgres_url: str
) -> None:
    home = tmp_path / f"home {turn}"
    ended = migrate_at_once(home, postgres_url)
    assert ended == [(0, "")] * AT_ONCE
    folder = home / "authority"
    root = x509.load_pem_x509_certificate((folder / "root.pem").read_bytes())
    sealed = (folder / "root.key.sealed").read_bytes()
    sealer = Sealer(load_keyring(home / "secrets.json"))
    opened = sealer.open(sealed, purpose=authorities.PURPOSE)
    root_key = load_pem_private_key(opened, None)
    assert root_key.public_key() == root.public_key()
    Authority(folder).check()
    assert identity.read(home).identity
    assert load_keyring(home / "secrets.json").sealing
    left = {path.name for path in home.rglob("*") if path.is_file()}
    assert left == {
        *("root.pem", "root.key.sealed", "intermediate.pem"),
        *("identity", "secrets.json", ".migrate.lock"),
        *(".authority.lock", ".authority.change.lock"),
    }


def test_making_the_authority_waits_for_whoever_makes_it(tmp_path: Path) -> None:
    """Killed at the same time or not: what two have begun, one of them has made."""
    code = (
        "import sys; from datetime import UTC, datetime; from pathlib import Path;"
        "from leyden.nodes.certificates import signing; print('ready', flush=True);"
        "sys.stdin.readline();"
        "signing.create(Path(sys.argv[1]), datetime.now(UTC))"
    )
    for turn in range(3):
        folder = tmp_path / str(turn) / "authority"
        begun = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(AT_ONCE)
        ]
        for each in begun:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in begun:
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        for each in begun:
            each.communicate(timeout=60)
        assert [each.returncode for each in begun] == [0] * AT_ONCE
        Authority(folder).check()


@pytest.mark.parametrize("what", ["authority", "identity"])
async def test_a_start_makes_neither_authority_nor_identity(
    tmp_path: Path, what: str
) -> None:
    given = settings(tmp_path)
    migrate(given)
    (tmp_path / what).rename(tmp_path / f"old {what}")
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match=rf"{what}.*run `leyden migrate`"):
            await stack.enter_async_context(running(given, loops=False))
    assert not (tmp_path / what).exists()


async def test_a_root_key_that_is_not_the_roots_ends_the_start(tmp_path: Path) -> None:
    given = settings(tmp_path)
    migrate(given)
    open_or_create(tmp_path / "other", now=datetime.now(UTC))
    stray = (tmp_path / "other" / "root.key").read_bytes()
    (tmp_path / "authority" / "root.key").write_bytes(stray)
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match=r"root\.key does not belong .* move root"):
            await stack.enter_async_context(running(given, loops=False))
    (tmp_path / "authority" / "root.key").unlink()  # the way out that it names
    async with running(given, loops=False):
        pass


def test_whoever_holds_a_lock_is_alone(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from leyden.base import processes;"
        "held = processes.locked(Path(sys.argv[1])); held.__enter__(); print('in')"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with (
        processes.locked(tmp_path / "lock"),
        subprocess.Popen(words, stdout=subprocess.PIPE) as other,
    ):
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1)
        other.kill()
    done = subprocess.run(words, capture_output=True, check=True, timeout=60)
    assert done.stdout == b"in\n"
