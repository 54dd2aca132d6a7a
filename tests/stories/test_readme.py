"""The pages as their readers meet them: a fresh clone, an empty home, words as written.

Only the cache of built daemons is warm, and the ports are free ones: whoever runs the
tests may have an `up` of their own. `up` runs in one terminal, and the rest in
another, as the README says. The quickstart and the page of the API are tried on the
same `up`; the quickstart's first and last block bring it up once more, and end it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from leyden.base.daemons.build import default_cache
from leyden.base.settings import every_setting
from tests.ports import free_network, free_port, free_ports
from tests.programs import built, needs

ROOT = Path(__file__).parents[2]
PORTS = tuple(
    f"LEYDEN_{name.upper()}"
    for name, _, _ in every_setting()
    if name.startswith(("api_port", "gateway_", "metrics_port", "devnet_"))
    and name.endswith("_port")
)
_LISTENER = ":9911"  # where the pages receive webhooks

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(1200),
    needs("curl"),
]


def commands() -> tuple[str, list[str]]:
    """Return the README's first command, and the blocks that follow."""
    up, *others = blocks("README.md")
    return up.strip(), others


def blocks(page: str) -> list[str]:
    """Return what a page tells its reader to type."""
    return re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def typed(
    lines: Iterable[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Type lines into one shell, and see that none of them fails."""
    script = "\n".join(lines).replace(_LISTENER, f":{free_port()}")
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{script}"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "leyden"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An empty home: no uv, no settings; the daemons that were built are there."""
    home = tmp_path_factory.mktemp("home")
    warm = default_cache(os.environ) / "daemons"
    if warm.exists():
        (home / ".cache" / "leyden").mkdir(parents=True)
        (home / ".cache" / "leyden" / "daemons").symlink_to(warm)
    stored = {"PATH", "LANG", "TMPDIR", "GOPROXY", "GOFLAGS", "CI"}
    wanted = {name: value for name, value in os.environ.items() if name in stored}
    for name in os.environ:  # how packages are reached here
        if name.startswith(("PIP_", "UV_", "SSL_")):
            wanted[name] = os.environ[name]
    # What is not in the words is no other installation's on this machine.
    own = {
        **{name: str(free_port()) for name in PORTS},
        "LEYDEN_NODES_ADDRESSES": free_network(),
        "LEYDEN_PEER_PORTS": ",".join(map(str, free_ports(20))),
    }
    return {**wanted, **own, "HOME": str(home)}


@pytest.fixture(scope="module")
def up(clone: Path, environment: dict[str, str]) -> Iterator[Path]:
    """The first terminal."""
    built("lnd", "btcd", "poold", "auctioneer")
    command, _ = commands()
    with (
        (clone / "up.out").open("w") as said,
        subprocess.Popen(
            command.split(), cwd=clone, env=environment, stdout=said, stderr=said
        ) as terminal,
    ):
        while "everything is up" not in (clone / "up.out").read_text():
            assert terminal.poll() is None, (clone / "up.out").read_text()
            time.sleep(0.2)
        while "the market is open" not in (clone / "up.out").read_text():
            assert terminal.poll() is None, (clone / "up.out").read_text()
            time.sleep(0.2)
        yield clone
        terminal.send_signal(signal.SIGINT)
        assert terminal.wait(60) == 0
        first, *_, last = blocks("docs/operators/quickstart.md")
        typed([first, "kept=$(mktemp -d)", last], clone, environment)


@pytest.fixture
def credit(
    request: pytest.FixtureRequest, up: Path, environment: dict[str, str]
) -> int:
    """What a page is tried with, so that all of it is typed twice on one home."""
    sats: int = request.param
    if sats:
        given = [
            f"./leyden coupons create --amount {sats} > given",
            "./leyden credit redeem \"$(grep -o '[0-9a-f-]*FC' given)\"",
        ]
        typed(given, up, environment)
    return sats


def paid_for_and_with_credit(*marks: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Try a page with both; the marks are for what is not paid for."""
    tries = [pytest.param(0, id="paid for")]
    tries.append(pytest.param(500_000, id="with credit", marks=marks))
    return pytest.mark.parametrize("credit", tries, indirect=True)


def test_the_blocks_work_as_written(up: Path, environment: dict[str, str]) -> None:
    _, others = commands()
    done = typed(others, up, environment)
    assert "leyden wallet init 'harbour light'" in done.stdout
    assert "the channel is active" in done.stdout


@paid_for_and_with_credit(pytest.mark.long)
@pytest.mark.usefixtures("credit")
def test_the_quickstart_works_as_written(up: Path, environment: dict[str, str]) -> None:
    _, *between, _ = blocks("docs/operators/quickstart.md")
    done = typed(between, up, environment)
    assert "runs lnd 0.20.2-beta" in done.stdout
    assert "\nsidecar1" in done.stdout
    assert "the books are right" in done.stdout
    assert '"message"' not in done.stdout


@paid_for_and_with_credit(pytest.mark.long)
@pytest.mark.usefixtures("credit")
def test_the_examples_of_the_api_work_as_written(
    up: Path, environment: dict[str, str]
) -> None:
    done = typed(blocks("docs/customers/api.md"), up, environment)
    refused = re.findall(r'^{"message":"([^"]*)"', done.stdout, re.MULTILINE)
    from_auction = "a channel from the auction can't be extended, as its seller is"
    others = [each for each in refused if not each.startswith(from_auction)]
    assert others == ["node is already up to date", "not found"], "as the page says"
    assert len(refused) == len(others) + 4, "for a lease there has to be a channel"


@pytest.fixture
def stranger(up: Path, environment: dict[str, str]) -> dict[str, str]:
    """What a customer's developer has: the platform's URL, and a key."""
    body = json.loads((up / ".leyden" / "dev.json").read_text())
    given = {"LEYDEN_URL": body["base_url"], "LEYDEN_KEY": body["api_key"]}
    return {**environment, **given}


@needs("jq")
def test_the_api_quickstart_works_with_a_url_and_a_key_alone(
    stranger: dict[str, str], tmp_path: Path
) -> None:
    done = typed(blocks("docs/customers/api-quickstart.md"), tmp_path, stranger)
    assert '"alias": "quickstart"' in done.stdout
    assert '"amount_due": ' in done.stdout
    assert '"message"' not in done.stdout


@pytest.mark.long
def test_so_does_its_python_with_the_library_that_the_platform_serves(
    stranger: dict[str, str], tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "customers" / "api-quickstart.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (install,) = re.findall(r"^pip (install .*)$", page, re.MULTILINE)
    (tmp_path / "quickstart.py").write_text(program)
    lines = [
        "python3 -m venv venv",
        f"venv/bin/pip -q {install}",
        "venv/bin/python quickstart.py",
    ]
    done = typed(lines, tmp_path, stranger)
    # What credit pays for begins at once, and isn't cancelled.
    last = done.stdout.splitlines()[-1]
    assert last == "cancelled" or last.split()[0] in {"creating", "created", "filled"}


@paid_for_and_with_credit(pytest.mark.long)
@pytest.mark.usefixtures("credit")
def test_the_page_of_commands_works_as_written(
    up: Path, environment: dict[str, str]
) -> None:
    pages = ("docs/customers/cli.md", "docs/operators/commands.md")
    lines = [each for page in pages for each in blocks(page)]
    done = typed(['eval "$(./leyden dev env)"', *lines], up, environment)
    assert "evening light is running" in done.stdout


def test_the_api_answers_with_the_key_that_up_made(up: Path) -> None:
    body = json.loads((up / ".leyden" / "dev.json").read_text())
    assert (up / ".leyden" / "dev.json").stat().st_mode & 0o777 == 0o600
    request = urllib.request.Request(
        f"{body['base_url']}/organizations/{body['organization_id']}/nodes",
        headers={"X-SERVICE-AUTH": body["api_key"]},
    )
    with urllib.request.urlopen(request) as answer:
        assert set(json.load(answer)) == {"nodes"}


def test_a_second_one_on_the_same_home_is_refused(
    up: Path, environment: dict[str, str]
) -> None:
    again = subprocess.run(
        ["./leyden", "up"],
        cwd=up,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1
    assert "is in use by process" in again.stderr
    assert again.stderr.count("\n") == 1


def test_what_is_up_need_not_be_started_again(
    up: Path, environment: dict[str, str]
) -> None:
    assert "already up" in typed(["./leyden up --detach"], up, environment).stdout


def test_status_says_what_runs(up: Path, environment: dict[str, str]) -> None:
    status = subprocess.run(
        ["./leyden", "status", "--json"],
        cwd=up,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(status.stdout)
    assert found["api"] == "ready"
    for daemon in ("gateway", "btcd", "treasury"):
        assert found[daemon].startswith("running as")


def _go() -> dict[str, str]:
    """Where Go keeps what it has compiled: the daemons' cache, in another shape."""
    names = ("GOCACHE", "GOMODCACHE")
    go = shutil.which("go")
    if go is None:
        return {}
    printed = subprocess.run(
        [go, "env", *names], capture_output=True, text=True, check=True
    )
    return dict(zip(names, printed.stdout.split(), strict=True))


@pytest.mark.long  # `.ci/run` does nothing else
def test_the_tests_run_as_written(clone: Path, environment: dict[str, str]) -> None:
    """As written, but told by the environment to be brief: this is one of them."""
    command = "./leyden test"
    assert f"\n| `{command}` |" in (ROOT / "CONTRIBUTING.md").read_text()
    subprocess.run(["./leyden", "config"], cwd=clone, env=environment, check=True)
    path = (clone / ".venv" / "pyvenv.cfg").stat().st_ino
    one = "tests/base/rules/test_accounts.py -p no:cacheprovider"
    brief = {**environment, "PYTEST_ADDOPTS": one}
    brief |= _go()
    done = subprocess.run(
        command.split(),
        cwd=clone,
        env=brief,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "passed" in done.stdout
    made = (clone / ".venv" / "pyvenv.cfg").stat().st_ino
    assert made == path, "what runs from this clone keeps its packages under its feet"
