import asyncio
import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from leyden.base.settings import Settings, every_setting
from leyden.operators.cli.doctor_checks import CheckResult, examine
from leyden_workshop.devnet import access
from leyden_workshop.devnet.layout import DaemonPorts, access_for
from leyden_workshop.devnet.wiring import wired
from tests.app.cli.conftest import Typed, printed_json
from tests.channels.tickets.stand_in_poold import standing_in
from tests.ports import free_port

_LISTENS = ("api_", "gateway_", "metrics_", "devnet_")


def test_config_prints_every_setting(typed: Typed) -> None:
    printed = typed("config").stdout
    rows = printed_json(typed("config", "--json"))["settings"]
    assert [row["name"] for row in rows] == [name for name, _, _ in every_setting()]
    for name, _, sentence in every_setting():
        assert f"{name} = " in printed
        assert sentence in printed


def test_keys_of_a_cluster_are_written_for_their_owner_only_and_once(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_NODES_DOMAIN", "nodes.example.com")
    file = tmp_path / "keys.yaml"
    before = os.umask(0o022)
    try:
        result = typed("encryption-keys", "kubernetes", "--output", str(file))
    finally:
        os.umask(before)
    assert (result.exit_code, result.output) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    written = file.read_text()
    assert "kind: Secret" in written
    again = typed("encryption-keys", "kubernetes", "--output", str(file))
    assert again.exit_code != 0
    assert "already exists" in again.stderr
    assert file.read_text() == written
    assert "kind: Secret" in typed("encryption-keys", "kubernetes").output


def test_config_keeps_secrets_to_itself(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_TESTNET_RPC_PASSWORD", "hunter2")
    monkeypatch.setenv("LEYDEN_DATABASE_URL", "postgresql://ada:hunter2@localhost/x")
    for words in (("config",), ("config", "--json")):
        printed = typed(*words).stdout
        assert "hunter2" not in printed
        assert "(set)" in printed


def test_a_wrong_setting_is_refused_by_every_command(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_API_PORT", "ten")
    for words in (("config",), ("migrate",), ("orgs", "list")):
        refused = typed(*words)
        assert refused.exit_code == 1
        assert refused.stderr.startswith("leyden: api_port: ")


def test_migrating_makes_the_keys_once(typed: Typed, tmp_path: Path) -> None:
    typed("migrate")
    before = (tmp_path / "home" / "secrets.json").read_bytes()
    typed("migrate")
    assert (tmp_path / "home" / "secrets.json").read_bytes() == before
    (tmp_path / "home" / "secrets.json").unlink()
    refused = typed("migrate")
    assert "restore it from your backup" in refused.stderr


def test_what_a_killed_platform_left_does_not_pass_for_one_that_is_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "ready").touch()
    with socket.create_server(("127.0.0.1", 0)) as other:
        environment = {
            **os.environ,
            "LEYDEN_HOME": str(tmp_path),
            "LEYDEN_API_PORT": str(other.getsockname()[1]),
        }
        program = Path(sys.executable).with_name("leyden")
        began = subprocess.run(
            [program, "up", "--detach"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert began.returncode == 1
    assert "is in use" in began.stdout
    assert "`leyden doctor` lists every port" in began.stdout


def test_rotating_the_keys(typed: Typed) -> None:
    typed("migrate")
    rotated = typed("encryption-keys", "rotate")
    assert "now back up" in rotated.stdout
    assert "waiting 5 s" in rotated.stderr
    assert typed("orgs", "list").exit_code == 0


class _Ready(BaseHTTPRequestHandler):
    """A platform of another home, on our port."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ready"}')

    def log_message(self, *_: object) -> None:
        pass


def test_another_homes_platform_is_not_taken_for_this_ones(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", free_port()), _Ready) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LEYDEN_API_PORT", str(server.server_port))
        shown = typed("status", "--json")
        server.shutdown()
    assert shown.exit_code == 1
    assert '"api": "not running"' in shown.stdout


def test_status_says_where_the_dashboard_is_and_how_to_sign_in(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    login = {"email": "owner@localhost", "password": "a lamp in every window"}
    (home / "dev.json").write_text(json.dumps({"dashboard_login": login}))
    monkeypatch.setenv("LEYDEN_API_PORT", "8000")
    shown = typed("status", "--json").stdout
    assert login["password"] not in shown
    said = json.loads(shown)
    assert said["dashboard"] == "http://localhost:8000/app/"
    assert said["sign_in_as"] == (
        f"owner@localhost; its password is in {home / 'dev.json'}"
    )


@pytest.fixture
def free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports for `up` that nobody has, whatever runs on this machine."""
    for name, _, _ in every_setting():
        if name.startswith(_LISTENS) and name.endswith("_port"):
            monkeypatch.setenv(f"LEYDEN_{name.upper()}", str(free_port()))


@pytest.mark.usefixtures("free_ports")
def test_doctor_offers_settings_for_all_ports_that_somebody_has(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        taken = [each.getsockname()[1] for each in (one, other)]
        monkeypatch.setenv("LEYDEN_API_PORT", str(taken[0]))
        monkeypatch.setenv("LEYDEN_DEVNET_BTCD_PORT", str(taken[1]))
        examined = typed("doctor")
        said = f"MISSING  2 ports are in use: {taken[0]}, {taken[1]}\n"
        missing = examined.stdout.partition(said)[2].splitlines()
        assert missing[0].endswith(f"add free ports to {tmp_path}/home/leyden.toml:")
        (tmp_path / "home").mkdir()
        lines = "".join(f"{each.strip()}\n" for each in missing[1:3])
        (tmp_path / "home" / "leyden.toml").write_text(lines)
        monkeypatch.delenv("LEYDEN_API_PORT")
        monkeypatch.delenv("LEYDEN_DEVNET_BTCD_PORT")
        assert "ports are free, for `leyden up`" in typed("doctor").stdout


@pytest.mark.usefixtures("free_ports")
def test_doctor_names_the_port_that_somebody_has(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        monkeypatch.setenv("LEYDEN_DEVNET_BTCD_PORT", str(taken))
        examined = typed("doctor")
    assert examined.exit_code == 1
    missing = examined.stdout.partition(f"MISSING  port {taken} is in use")[2]
    assert "set LEYDEN_DEVNET_BTCD_PORT" in missing.splitlines()[1]


def test_doctor_says_how_many_nodes_the_open_files_are_enough_for() -> None:
    doctor = "import sys; from leyden.app.main import main; sys.exit(main())"
    examined = subprocess.run(
        ["sh", "-c", f"ulimit -n 1024; {sys.executable} -c '{doctor}' doctor"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    line = "open files limit: 1,024, enough for about 256 local nodes"
    assert f"without  {line}" in examined.stdout


def test_doctor_says_what_keeps_tor_from_giving_addresses(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "onion" not in typed("doctor").stdout
    socket_path = tmp_path / "control"
    monkeypatch.setenv("LEYDEN_TOR_CONTROL", f"unix:{socket_path}")
    line = f"without  Tor at unix:{socket_path} can create onion addresses"
    said = typed("doctor").stdout.partition(line)[2]
    assert "tor_control: needs peer_ports" in said.splitlines()[1]
    monkeypatch.setenv("LEYDEN_PEER_PORTS", "21000-21999")
    said = typed("doctor").stdout.partition(line)[2]
    assert "nothing listens there: start Tor, or correct" in said.splitlines()[1]


@pytest.mark.parametrize(
    ("days", "says"),
    [([], "no batch has cleared yet"), ([9, 5], "5 days ago"), ([9, 1], "")],
)
async def test_doctor_warns_where_the_auction_clears_no_batches(
    tmp_path: Path, days: list[int], says: str
) -> None:
    line = "the auction has cleared a batch in the last 3 days"
    now = datetime.now(UTC)
    async with standing_in(tmp_path) as poold:
        poold.batches = [now - timedelta(days=each) for each in days]
        given = Settings(
            home=str(tmp_path),
            market="own, pool",
            pool_host=poold.access.host,
            pool_certificate=str(poold.access.certificate),
            pool_macaroon=str(poold.access.macaroon),
        )

        async def found() -> CheckResult:
            results = await asyncio.to_thread(lambda: list(examine(given, {})))
            (result,) = [each for each in results if each.what == line]
            return result

        first = await found()
        assert (first.well, first.needed) == (not says, False)
        assert says in first.mend
        poold.says["BatchSnapshots"] = "the auctioneer is somewhere else"
        assert "not known" in (await found()).mend


def test_doctor_looks_at_what_up_runs_with(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEYDEN_TOR_CONTROL", f"unix:{tmp_path / 'control'}")
    home = tmp_path / "home"
    access.folder(home).mkdir(parents=True)
    ports = DaemonPorts(btcd=1, treasury_peer=2, treasury_grpc=3, treasury_rest=4)
    wired(Settings(home=str(home)), access_for(home, "simnet", ports))
    said = typed("doctor").stdout
    assert "needs peer_ports" not in said  # `up` sets them, on its private chain
    assert "nothing listens there: start Tor" in said


def test_doctor_tries_no_cluster_where_nodes_run_here(typed: Typed) -> None:
    examined = typed("doctor", "--cluster")
    assert examined.exit_code == 1
    assert "TO DO  the cluster can run nodes, and we have the" in examined.stdout
    assert (
        'runtime: nodes run on this machine; set runtime = "kubernetes"'
    ) in examined.stdout


def test_doctor_tries_the_cluster_that_up_runs(typed: Typed, tmp_path: Path) -> None:
    home = tmp_path / "home"
    access.folder(home).mkdir(parents=True)
    ports = DaemonPorts(btcd=1, treasury_peer=2, treasury_grpc=3, treasury_rest=4)
    digest = f"@sha256:{'0' * 64}"
    pods = access.ClusterAccess(
        host="127.0.0.1",
        kubeconfig=str(home / "cluster/kubeconfig"),
        namespace="leyden-nodes",
        storage_class="local-retained",
        images=f"v0.20.2-beta=localhost/lnd{digest}",
        companion_image=f"localhost/companion{digest}",
        companion_url="https://127.0.0.1:8010",
    )
    wired(Settings(home=str(home)), access_for(home, "simnet", ports, cluster=pods))
    said = typed("doctor", "--cluster").stdout
    assert "nodes run on this machine" not in said
    assert f"{pods.kubeconfig}: " in said
