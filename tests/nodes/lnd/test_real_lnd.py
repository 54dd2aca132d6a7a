"""What a real lnd makes of the configuration that we write, in each version offered."""

import base64
import json
import re
import secrets
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

import pytest

from leyden.base.rules.addresses import Reach
from leyden.errors import NodeAway
from leyden.nodes.lnd.chains import Backend, Bitcoind, BtcdBackend, Chain, Neutrino
from leyden.nodes.lnd.home import Tls, log_file, write
from leyden.nodes.lnd.options import Logs, Options, lines
from leyden.nodes.lnd.sweep import sweep
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.node_settings import AllowedCalls, NodeSettings
from leyden.nodes.rules.onions import host_of
from leyden.nodes.rules.versions import OFFERED, Version
from leyden.schemas.node_settings import TABLE
from leyden.values import replace
from tests.authority import Authority
from tests.ports import free_port
from tests.programs import built

pytestmark = pytest.mark.real

NAME = "harbour.nodes.example"
AUTHORITY = Authority()
PATIENCE_S = 60
# Signers of these tests are on this machine, or nowhere.
ANYWHERE = AllowedCalls(
    remotesigninghost=Reach(exceptions=(ip_network("0.0.0.0/0"), ip_network("::/0"))),
    tor=True,
)
NO_PEERS = Neutrino(only_peers=("127.0.0.1:1",))
MACAROON = "0201036c6e6402" + "ab" * 40


def lnd_of(version: Version) -> Path:
    (path,) = built(f"lnd {version}").values()
    return path


@pytest.fixture
def tmp_path(memory_path: Path) -> Path:
    return memory_path


@pytest.fixture(params=OFFERED.versions, ids=str)
def version(request: pytest.FixtureRequest) -> Version:
    chosen: Version = request.param
    lnd_of(chosen)
    return chosen


@pytest.fixture(
    params=[
        each if each == OFFERED.default else pytest.param(each, marks=pytest.mark.long)
        for each in OFFERED.versions
    ],
    ids=str,
)
def a_version(request: pytest.FixtureRequest) -> Version:
    """The default version; in the long run each one, in tests that take seconds."""
    chosen: Version = request.param
    lnd_of(chosen)
    return chosen


def a_node(**more: object) -> NodeSettings:
    return node_settings.parse(
        {
            "autopilot": False,
            "grpc": True,
            "rest": True,
            "keysend": False,
            "whitelist": [],
            "alias": "harbour light",
            "color": "#3399FF",
            **more,
        },
        calls=ANYWHERE,
    )


SIGNER: dict[str, object] = {
    "remotesigning": True,
    "remotesigninghost": "127.0.0.1:1",
    "remotesigningmacaroon": MACAROON,
    "remotesigningcert": AUTHORITY.pem,
}
# Each setting at its boldest; the parts of a remote signer come together.
ON: dict[str, dict[str, object]] = {
    "autopilot": {"autopilot": True},
    "keysend": {"keysend": True},
    "alias": {"alias": '#;= "[Bitcoin]" \\n $HOME 🌊'},
    "color": {"color": "#aBcDeF"},
    "wumbo": {"wumbo": False},
    "minchansize": {"minchansize": "0"},
    "maxchansize": {"maxchansize": "1000000000"},
    "autocompaction": {"autocompaction": True},
    "defaultfeerate": {"defaultfeerate": "4294967295"},
    "basefee": {"basefee": "4294967295"},
    "amp": {"amp": False},
    "wtclient": {"wtclient": True},
    "maxpendingchannels": {"maxpendingchannels": "9999999999999999"},
    "allowcircularroute": {"allowcircularroute": True},
    "numgraphsyncpeers": {"numgraphsyncpeers": "0000000000000000"},
    "gccanceledinvoicesonstartup": {"gccanceledinvoicesonstartup": True},
    "gccanceledinvoicesonthefly": {"gccanceledinvoicesonthefly": True},
    "torskipproxyforclearnettargets": {"torskipproxyforclearnettargets": True},
    "rpcmiddleware": {"rpcmiddleware": True},
    "optionscidalias": {"optionscidalias": True},
    "zeroconf": {"zeroconf": True, "optionscidalias": True},
    "remotesigning": SIGNER,
    "remotesigninghost": {**SIGNER, "remotesigninghost": "[2001:db8::1]"},
    "remotesigningmacaroon": {**SIGNER, "remotesigningmacaroon": "00"},
    "remotesigningcert": {**SIGNER, "remotesigningcert": AUTHORITY.pem * 2},
}
EVERYTHING = {
    name: value
    for settings in ON.values()
    for name, value in settings.items()
    if name not in SIGNER and name != "wumbo"
}


def tls() -> Tls:
    certificate, key = AUTHORITY.sign(NAME)
    return Tls(chain_pem=certificate, key_pem=key)


@dataclass
class Running:
    """An lnd that runs, and the way to ask it things."""

    home: Path
    options: Options
    process: "subprocess.Popen[bytes]"

    def call(self, path: str, body: object = None, macaroon: str = "") -> object:
        host, port = self.options.rest_listen[0].split(":")
        context = ssl.create_default_context(cadata=AUTHORITY.pem)
        context.check_hostname = False  # the name resolves nowhere; its chain is ours
        request = urllib.request.Request(
            f"https://{host}:{port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Grpc-Metadata-macaroon": macaroon},
        )
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return json.load(answer)

    def state(self) -> str:
        answer = self.call("/v1/state")
        assert isinstance(answer, dict)
        return str(answer["state"])

    def wait_for(self, *states: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                assert self.process.stdout is not None
                raise NodeAway(f"lnd ended: {self.process.stdout.read().decode()}")
            try:
                if (state := self.state()) in states:
                    return state
            except OSError:
                pass
            time.sleep(0.02)  # between two looks at a condition
        raise NodeAway(f"lnd never came to {states}")


@contextmanager
def running(
    home: Path, settings: NodeSettings, version: Version, **more: object
) -> Iterator[Running]:
    options = Options(
        version=version,
        chain=Chain.SIMNET,
        backend=NO_PEERS,
        rest_listen=(f"127.0.0.1:{free_port()}",),
        rpc_listen=(f"127.0.0.1:{free_port()}",),
        domain=NAME,
    )
    options = replace(options, **more)  # type: ignore[arg-type]
    write(home, settings, options, tls=tls())
    process = subprocess.Popen(
        [lnd_of(version), f"--lnddir={home}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"HOME": str(home)},
    )
    try:
        yield Running(home, options, process)
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_every_setting_is_tried() -> None:
    lnds = {name for name, setting in TABLE.items() if setting.lnd}
    assert set(ON) == lnds


@pytest.mark.parametrize(
    "name",
    [  # alone; all of them at once are tried below
        pytest.param(name, marks=pytest.mark.long) if name in EVERYTHING else name
        for name in ON
    ],
)
def test_lnd_starts_with_each_setting(name: str, tmp_path: Path) -> None:
    settings = a_node(**ON[name])
    with running(tmp_path / "7", settings, OFFERED.default) as lnd:
        assert lnd.wait_for("NON_EXISTING") == "NON_EXISTING"


@pytest.mark.parametrize("settings", [{}, EVERYTHING, {**EVERYTHING, **SIGNER}])
def test_every_version_starts_with_nothing_and_with_everything(
    settings: dict[str, object], version: Version, tmp_path: Path
) -> None:
    with running(tmp_path / "7", a_node(**settings), version) as lnd:
        assert lnd.wait_for("NON_EXISTING") == "NON_EXISTING"


@pytest.mark.parametrize(
    ("chain", "backend"),
    [
        pytest.param(
            chain,
            backend,
            marks=()
            if chain is Chain.MAINNET or isinstance(backend, BtcdBackend)
            else pytest.mark.long,
        )
        for chain in Chain
        for backend in (
            BtcdBackend(
                host="127.0.0.1:1", user="u", password="p$w;#", certificate=b"PEM"
            ),
            Bitcoind(host="127.0.0.1:1", user="u", password="p"),
            Bitcoind(
                host="127.0.0.1:1",
                user="u",
                password="p",
                zmq_blocks="tcp://127.0.0.1:2",
                zmq_transactions="tcp://127.0.0.1:3",
            ),
            Neutrino(
                only_peers=("127.0.0.1:1", "127.0.0.1:2"), fee_url="https://127.0.0.1:1"
            ),
            Neutrino(more_peers=("127.0.0.1:1",), fee_url="https://127.0.0.1:1"),
        )
        if not (chain is Chain.SIMNET and isinstance(backend, Bitcoind))
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_lnd_starts_on_every_chain_behind_every_backend(
    chain: Chain, backend: Backend, tmp_path: Path
) -> None:
    home = tmp_path / "7"
    with running(home, a_node(), OFFERED.default, chain=chain, backend=backend) as lnd:
        assert lnd.wait_for("NON_EXISTING") == "NON_EXISTING"
        assert log_file(home, chain).exists()


def test_lnd_starts_with_all_the_platform_may_ask_for(
    version: Version, tmp_path: Path
) -> None:
    with running(
        tmp_path / "7",
        a_node(torskipproxyforclearnettargets=True),
        version,
        peer_listen=(f"127.0.0.1:{free_port()}",),
        announced=("198.51.100.7:9735", "203.0.113.9:9735", "localhost:9735"),
        cors_origins=("https://dashboard.example", "http://localhost:8000"),
        tor_socks="127.0.0.1:1",
        log_level="trace",
        logs=Logs(files=1, file_mb=1),
    ) as lnd:
        assert lnd.wait_for("NON_EXISTING") == "NON_EXISTING"


def test_lnd_does_not_start_with_an_unknown_key(tmp_path: Path) -> None:
    """The reason for all the care: were this not so, no key would need a version."""
    home = tmp_path / "7"
    with running(home, a_node(), OFFERED.default) as lnd:
        lnd.wait_for("NON_EXISTING")
    with (home / "lnd.conf").open("a") as conf:
        conf.write("harbour.light=true\n")
    ended = subprocess.run(
        [lnd_of(OFFERED.default), f"--lnddir={home}"],
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode != 0
    assert b"unknown option: harbour.light" in ended.stdout + ended.stderr


def open_wallet(lnd: Running) -> str:
    """Make a wallet as its owner would, and give the macaroon that opens everything."""
    lnd.wait_for("NON_EXISTING")
    seed = lnd.call("/v1/genseed")
    assert isinstance(seed, dict)
    made = lnd.call(
        "/v1/initwallet",
        {
            "wallet_password": base64.b64encode(b"correct horse").decode(),
            "cipher_seed_mnemonic": seed["cipher_seed_mnemonic"],
            "stateless_init": True,
        },
    )
    assert isinstance(made, dict)
    return base64.b64decode(made["admin_macaroon"]).hex()


def test_lnd_reads_from_the_file_what_we_meant(
    a_version: Version, tmp_path: Path
) -> None:
    """Asked itself, with its wallet open, it names the value of every option."""
    settings = a_node(**EVERYTHING)
    with running(tmp_path / "7", settings, a_version) as lnd:
        macaroon = open_wallet(lnd)
        lnd.wait_for("RPC_ACTIVE", "SERVER_ACTIVE")
        answer = lnd.call("/v1/getdebuginfo", macaroon=macaroon)
        assert isinstance(answer, dict)
        config: dict[str, str] = answer["config"]
        meant = dict(lines(settings, lnd.options, tmp_path / "7"))
        read = {key: config[key] for key in meant if key in config}
        expected = {key: meant[key] for key in read}
        assert {k: normal(v) for k, v in read.items()} == {
            k: normal(v) for k, v in expected.items()
        }
        ours = {each.lnd for each in TABLE.values() if each.lnd}
        signer = {key for key in ours if key.startswith("remotesigner.")}
        assert ours - signer - set(read) == set()


def test_lnd_announces_an_onion_address_and_needs_no_tor(
    a_version: Version, tmp_path: Path
) -> None:
    onion, public = f"{host_of(bytes(32))}:9735", "198.51.100.7:21000"
    listen = (f"127.0.0.1:{free_port()}",)
    announced = (public, onion)
    settings = a_node()
    with running(
        tmp_path / "7", settings, a_version, peer_listen=listen, announced=announced
    ) as lnd:
        macaroon = open_wallet(lnd)
        lnd.wait_for("RPC_ACTIVE", "SERVER_ACTIVE")
        answer = lnd.call("/v1/getinfo", macaroon=macaroon)
    assert isinstance(answer, dict)
    key = answer["identity_pubkey"]
    assert answer["uris"] == [f"{key}@{each}" for each in announced]


def normal(value: str) -> str:
    """Write a value as lnd shows it: numbers bare, fees in its own unit."""
    value = value.removesuffix(" mSAT").removesuffix("mSAT").strip("[]")
    return str(int(value)) if value.isdigit() else value


def test_lnd_writes_its_log_in_the_form_we_read_and_nothing_beside_it(
    tmp_path: Path,
) -> None:
    home = tmp_path / "7"
    with running(home, a_node(), OFFERED.default, log_level="trace") as lnd:
        lnd.wait_for("NON_EXISTING")
        lnd.process.terminate()
        printed, _ = lnd.process.communicate(timeout=PATIENCE_S)
    logged = log_file(home, Chain.SIMNET).read_text().splitlines()
    head = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[[A-Z]{3}\] [A-Z]{4}: ")
    assert sum(head.match(line) is not None for line in logged) > len(logged) // 2
    assert printed.count(b"[INF]") == 0  # the console has no cap


def test_an_unlock_that_leaves_macaroons_is_swept(
    a_version: Version, tmp_path: Path
) -> None:
    home = tmp_path / "7"
    with running(home, a_node(), a_version) as lnd:
        open_wallet(lnd)
        lnd.wait_for("RPC_ACTIVE", "SERVER_ACTIVE")
        assert sweep(home) == ()  # made without leaving any
    with running(home, a_node(), a_version) as lnd:
        lnd.wait_for("LOCKED")
        password = base64.b64encode(b"correct horse").decode()
        lnd.call("/v1/unlockwallet", {"wallet_password": password})
        lnd.wait_for("RPC_ACTIVE", "SERVER_ACTIVE")
        found = sweep(home)
        assert "data/chain/bitcoin/simnet/admin.macaroon" in found
        assert len(found) == 8
        assert sweep(home) == ()
        assert lnd.state() in {"RPC_ACTIVE", "SERVER_ACTIVE"}


def test_whoever_floods_the_log_fills_no_disk(version: Version, tmp_path: Path) -> None:
    """At trace level, by a seed whose last word is endless: lnd repeats it each time.

    What may be there: a file that is written, one that is being packed, and packed
    ones, each as large as a file may be and one line larger.
    """
    logs = Logs(files=2, file_mb=1)
    home = tmp_path / "7"
    endless = secrets.token_hex(100_000)  # which packs to no less than half
    words = {
        "wallet_password": base64.b64encode(b"correct horse").decode(),
        "cipher_seed_mnemonic": ["abandon"] * 23 + [endless],
    }
    with running(home, a_node(), version, log_level="trace", logs=logs) as lnd:
        lnd.wait_for("NON_EXISTING")
        folder = log_file(home, Chain.SIMNET).parent
        limit = (2 + logs.files) * (logs.file_mb * 2**20 + 2 * len(endless))
        times = 2 * limit // len(endless)
        for _ in range(times):
            with pytest.raises(urllib.error.HTTPError, match="500"):
                lnd.call("/v1/initwallet", words)
        assert lnd.state() == "NON_EXISTING"
        assert (folder / "lnd.log").stat().st_size > len(endless), "it says nothing"
        assert sum(path.stat().st_size for path in folder.iterdir()) <= limit
