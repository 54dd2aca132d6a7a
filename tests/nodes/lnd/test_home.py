"""A node's folder before lnd starts: what is in it, and who may read it."""

import base64
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leyden.errors import Malformed, SetupError
from leyden.nodes.lnd import conf, keys
from leyden.nodes.lnd.chains import Bitcoind, BtcdBackend, Chain, Neutrino
from leyden.nodes.lnd.home import (
    FileOwner,
    Tls,
    channel_backup,
    log_file,
    render,
    write,
)
from leyden.nodes.lnd.options import REPEATABLE, Options, lines
from leyden.nodes.rules import node_settings
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.onions import host_of
from leyden.nodes.rules.versions import OFFERED, Version
from leyden.schemas.node_settings import TABLE
from leyden.schemas.settings import SettingKind
from leyden.values import replace

VERSION = OFFERED.default
TLS = Tls(chain_pem=b"a chain\n", key_pem=b"its key\n")
BTCD = BtcdBackend(
    host="127.0.0.1:18556", user="u", password="p4ss", certificate=b"PEM\n"
)
OPTIONS = Options(
    version=VERSION,
    chain=Chain.SIMNET,
    backend=BTCD,
    rest_listen=("127.0.1.7:8080",),
    rpc_listen=("127.0.1.7:10009",),
    domain="harbour.nodes.example",
)
MACAROON = bytes.fromhex("0201036c6e6402") + bytes(range(40))
BODY = base64.b64encode(b"\x30\x82" + bytes(64)).decode()
PEM = f"-----BEGIN CERTIFICATE-----\n{BODY}\n-----END CERTIFICATE-----\n"


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
        }
    )


def a_signed_node() -> NodeSettings:
    return a_node(
        remotesigning=True,
        remotesigninghost="signer.example.org",
        remotesigningmacaroon=MACAROON.hex(),
        remotesigningcert=PEM,
    )


def with_setting(node: NodeSettings, name: str, value: object) -> NodeSettings:
    """Set it past every check, so that what is behind the checks has to hold."""
    return replace(node, **{name: value})  # type: ignore[arg-type]


def options_of(node: NodeSettings, home: Path, options: Options = OPTIONS) -> set[str]:
    return {f"{key}={value}" for key, value in lines(node, options, home)}


# What each setting turns into: the map, written a second time.
ROUND_TRIPS = [
    ("autopilot", True, "autopilot.active=true"),
    ("autopilot", False, "autopilot.active=false"),
    ("keysend", True, "accept-keysend=true"),
    ("keysend", False, "accept-keysend=false"),
    ("alias", "Ünterwegs ; #1", "alias=Ünterwegs ; #1"),
    ("color", "#00ff00", "color=#00ff00"),
    ("wumbo", True, "protocol.wumbo-channels=true"),
    ("wumbo", False, "protocol.wumbo-channels=false"),
    ("minchansize", "50000", "minchansize=50000"),
    ("maxchansize", "9000000", "maxchansize=9000000"),
    ("autocompaction", True, "db.bolt.auto-compact=true"),
    ("defaultfeerate", "250", "bitcoin.feerate=250"),
    ("basefee", "0", "bitcoin.basefee=0"),
    ("amp", False, "accept-amp=false"),
    ("wtclient", True, "wtclient.active=true"),
    ("maxpendingchannels", "5", "maxpendingchannels=5"),
    ("allowcircularroute", True, "allow-circular-route=true"),
    ("numgraphsyncpeers", "0", "numgraphsyncpeers=0"),
    ("gccanceledinvoicesonstartup", True, "gc-canceled-invoices-on-startup=true"),
    ("gccanceledinvoicesonthefly", True, "gc-canceled-invoices-on-the-fly=true"),
    (
        "torskipproxyforclearnettargets",
        True,
        "tor.skip-proxy-for-clearnet-targets=true",
    ),
    ("rpcmiddleware", True, "rpcmiddleware.enable=true"),
    ("optionscidalias", True, "protocol.option-scid-alias=true"),
    ("zeroconf", True, "protocol.zero-conf=true"),
    ("remotesigning", True, "remotesigner.enable=true"),
    ("remotesigning", False, "remotesigner.enable=false"),
    ("remotesigninghost", "10.1.1.1:1", "remotesigner.rpchost=10.1.1.1:1"),
    (
        "remotesigningmacaroon",
        "ab" * 40,
        "remotesigner.macaroonpath=/nodes/7/remote-signer.mac",
    ),
    (
        "remotesigningcert",
        PEM * 2,
        "remotesigner.tlscertpath=/nodes/7/remote-signer.cert",
    ),
]


@pytest.mark.parametrize(("name", "value", "option"), ROUND_TRIPS)
@pytest.mark.parametrize("version", OFFERED.versions, ids=str)
def test_a_setting_becomes_its_option_in_every_version(
    name: str, value: object, option: str, version: Version
) -> None:
    node = with_setting(a_signed_node(), name, value)
    home = Path("/nodes/7")
    content = render(node, replace(OPTIONS, version=version), home)["lnd.conf"]
    assert option in {f"{key}={value}" for key, value in conf.read(content)}


def test_every_setting_has_its_line() -> None:
    written = {name for name, setting in TABLE.items() if setting.lnd}
    assert written == {name for name, _, _ in ROUND_TRIPS}
    placed = {name for name, setting in TABLE.items() if setting.placed}
    assert set(TABLE) - written - placed == node_settings.LIVE


def test_no_two_settings_share_an_option() -> None:
    names = [each.lnd for each in TABLE.values() if each.lnd]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "name",
    ["minchansize", "maxchansize", "defaultfeerate", "basefee", "maxpendingchannels"],
)
def test_an_unset_number_is_left_to_lnd(name: str) -> None:
    written = dict(lines(a_node(**{name: ""}), OPTIONS, Path("/nodes/7")))
    assert TABLE[name].lnd not in written


def test_a_key_that_a_version_lacks_is_not_written() -> None:
    table = {
        "amp": replace(TABLE["amp"], lnd="newer", since="v0.21.0-beta"),
        "wumbo": replace(TABLE["wumbo"], lnd="older", until="v0.21.0-beta"),
    }
    for version, expected in (
        (Version(0, 20, 2), [("older", "true")]),
        (Version(0, 21, 0), [("newer", "true")]),
        (Version(0, 22, 0), [("newer", "true")]),
    ):
        got = keys.lines(a_node(), version, Path("/nodes/7"), table=table)
        assert list(got) == expected


def test_the_platforms_own_options() -> None:
    options = replace(
        OPTIONS, cors_origins=("https://a.example", "https://b.example:8443")
    )
    written = options_of(a_node(), Path("/nodes/7"), options)
    assert written >= {
        "bitcoin.simnet=true",
        "bitcoin.node=btcd",
        "btcd.rpchost=127.0.0.1:18556",
        "btcd.rpcuser=u",
        "btcd.rpcpass=p4ss",
        "btcd.rawrpccert=50454d0a",
        "restlisten=127.0.1.7:8080",
        "rpclisten=127.0.1.7:10009",
        "nolisten=true",
        "restcors=https://a.example",
        "restcors=https://b.example:8443",
        "tlsdisableautofill=true",
        "tlsextradomain=harbour.nodes.example",
        "healthcheck.chainbackend.attempts=0",
        "healthcheck.remotesigner.attempts=0",
        "debuglevel=info",
        "logging.console.disable=true",
        "logging.file.max-files=3",
        "logging.file.max-file-size=10",
    }


def test_peers_may_call_where_that_is_asked_for() -> None:
    options = replace(
        OPTIONS, peer_listen=("0.0.0.0:9735",), announced=("198.51.100.7:9735",)
    )
    written = options_of(a_node(), Path("/nodes/7"), options)
    assert {"listen=0.0.0.0:9735", "externalip=198.51.100.7:9735"} <= written
    assert "nolisten=true" not in written


@pytest.mark.parametrize(
    ("address", "option"),
    [
        ("198.51.100.7:21000", "externalip"),
        ("[2001:db8::7]:21000", "externalip"),
        ("peers.example:21000", "externalhosts"),
        ("10.example:21000", "externalhosts"),
        (f"{host_of(bytes(32))}:9735", "externalip"),
        ("pier.onion:9735", "externalhosts"),
    ],
)
def test_a_name_is_announced_as_a_name(address: str, option: str) -> None:
    options = replace(OPTIONS, peer_listen=("0.0.0.0:9735",), announced=(address,))
    written = options_of(a_node(), Path("/nodes/7"), options)
    assert {line for line in written if line.startswith("external")} == {
        f"{option}={address}"
    }


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        (
            Bitcoind(host="10.0.0.1:8332", user="u", password="p"),
            {"bitcoin.node=bitcoind", "bitcoind.rpcpolling=true"},
        ),
        (
            Bitcoind(
                host="10.0.0.1:8332",
                user="u",
                password="p",
                zmq_blocks="tcp://10.0.0.1:1",
                zmq_transactions="tcp://10.0.0.1:2",
            ),
            {
                "bitcoind.zmqpubrawblock=tcp://10.0.0.1:1",
                "bitcoind.zmqpubrawtx=tcp://10.0.0.1:2",
            },
        ),
        (
            Neutrino(only_peers=("a.example", "b.example"), fee_url="https://fees"),
            {
                "bitcoin.node=neutrino",
                "neutrino.connect=a.example",
                "neutrino.connect=b.example",
                "fee.url=https://fees",
            },
        ),
        (
            Neutrino(more_peers=("a.example",), fee_url="https://fees"),
            {"neutrino.addpeer=a.example"},
        ),
    ],
)
def test_a_backend_is_told_to_lnd(
    backend: Bitcoind | Neutrino, expected: set[str]
) -> None:
    options = replace(OPTIONS, chain=Chain.MAINNET, backend=backend)
    written = options_of(a_node(), Path("/nodes/7"), options)
    assert written >= expected | {"bitcoin.mainnet=true"}


@pytest.mark.parametrize(
    "more",
    [
        {"chain": Chain.SIMNET, "backend": Bitcoind(host="h", user="u", password="p")},
        {"chain": Chain.MAINNET, "backend": Neutrino()},
        {"cors_origins": ("*",)},
        {"cors_origins": ("https://a.example\nnoseedbackup=true",)},
        {"cors_origins": ("https://a.example/",)},
        {"log_level": "loud"},
        {"rest_listen": ()},
        {"rpc_listen": ()},
    ],
)
def test_what_an_operator_cannot_mean_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(SetupError):
        replace(OPTIONS, **more)  # type: ignore[arg-type]


def test_a_password_that_lnd_would_look_up_is_refused() -> None:
    options = replace(OPTIONS, backend=replace(BTCD, password="${HOME}"))
    with pytest.raises(SetupError, match="must not begin with"):
        render(a_node(), options, Path("/nodes/7"))


@pytest.mark.parametrize("home", ["nodes/7", "~/nodes", "/nodes/$HOME"])
def test_a_folder_that_lnd_would_read_as_another_is_refused(home: str) -> None:
    with pytest.raises(SetupError, match="absolute path"):
        render(a_node(), OPTIONS, Path(home))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_for_its_node_alone(tmp_path: Path) -> None:
    home = tmp_path / "7"
    before = os.umask(0)
    try:
        write(home, a_signed_node(), OPTIONS, tls=TLS)
    finally:
        os.umask(before)
    assert mode(home) == 0o700
    assert {path.name: mode(path) for path in home.iterdir()} == {
        "lnd.conf": 0o600,
        "tls.cert": 0o600,
        "tls.key": 0o600,
        "remote-signer.mac": 0o600,
        "remote-signer.cert": 0o600,
    }


def test_the_files_hold_what_was_given(tmp_path: Path) -> None:
    home = tmp_path / "7"
    write(home, a_signed_node(), OPTIONS, tls=TLS)
    assert (home / "tls.cert").read_bytes() == TLS.chain_pem
    assert (home / "tls.key").read_bytes() == TLS.key_pem
    assert (home / "remote-signer.mac").read_bytes() == MACAROON
    assert (home / "remote-signer.cert").read_text() == PEM
    assert MACAROON.hex() not in (home / "lnd.conf").read_text()
    written = dict(conf.read((home / "lnd.conf").read_bytes()))
    assert written["remotesigner.macaroonpath"] == str(home / "remote-signer.mac")


def test_a_folder_that_was_open_is_closed(tmp_path: Path) -> None:
    home = tmp_path / "7"
    home.mkdir(mode=0o777)
    (home / "tls.key").write_text("old")
    (home / "tls.key").chmod(0o666)
    write(home, a_node(), OPTIONS, tls=TLS)
    assert mode(home) == 0o700
    assert mode(home / "tls.key") == 0o600


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "7"
    write(home, a_signed_node(), OPTIONS, tls=TLS)
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    left = home / f".lnd.conf.{'0' * 16}.draft"
    left.write_text("left by a crash")
    os.utime(left, (0, 0))
    write(home, a_signed_node(), OPTIONS, tls=TLS)
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before


def test_secrets_go_when_remote_signing_is_turned_off(tmp_path: Path) -> None:
    home = tmp_path / "7"
    write(home, a_signed_node(), OPTIONS, tls=TLS)
    write(home, a_node(), OPTIONS, tls=TLS)
    assert sorted(path.name for path in home.iterdir()) == [
        "lnd.conf",
        "tls.cert",
        "tls.key",
    ]


def test_a_refusal_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    home = tmp_path / "7"
    write(home, a_node(), OPTIONS, tls=TLS)
    before = (home / "lnd.conf").read_bytes()
    poisoned = replace(a_node(), alias="x\nrestcors=*")  # past every earlier check
    with pytest.raises(Malformed):
        write(home, poisoned, OPTIONS, tls=replace(TLS, chain_pem=b"other"))
    assert (home / "lnd.conf").read_bytes() == before
    assert (home / "tls.cert").read_bytes() == TLS.chain_pem


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A node's own process could leave them for a platform that runs as root."""
    home, elsewhere = tmp_path / "7", tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    home.mkdir()
    for name in ("lnd.conf", ".lnd.conf.new", "tls.key"):
        (home / name).symlink_to(elsewhere)
    write(home, a_node(), OPTIONS, tls=TLS)
    assert elsewhere.read_text() == "precious"
    assert not (home / "lnd.conf").is_symlink()

    (tmp_path / "8").symlink_to(home)
    with pytest.raises(OSError, match=r"directory|symbolic"):
        write(tmp_path / "8", a_node(), OPTIONS, tls=TLS)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_belong_to_the_user_of_the_node(tmp_path: Path) -> None:
    home = tmp_path / "7"
    write(
        home, a_signed_node(), OPTIONS, tls=TLS, owner=FileOwner(uid=31_007, gid=31_008)
    )
    for path in (home, *home.iterdir()):
        assert (path.stat().st_uid, path.stat().st_gid) == (31_007, 31_008)


def test_where_lnd_keeps_its_own() -> None:
    home = Path("/nodes/7")
    assert log_file(home, Chain.SIMNET) == home / "logs/bitcoin/simnet/lnd.log"
    assert channel_backup(home, Chain.TESTNET3) == (
        home / "data/chain/bitcoin/testnet/channel.backup"
    )


KNOWN = {each.lnd for each in TABLE.values()} | {
    key for key, _ in lines(a_node(), OPTIONS, Path("/nodes/7"))
}
PLAIN = {SettingKind.SWITCH, SettingKind.ADDRESSES}
EVIL = st.text() | st.builds(
    "{}{}{}".format,
    st.text(max_size=4),
    st.sampled_from(["\n", "\r", "\x85", "\u2028", '"', "\\n", " ; ", "\x00", "\\"]),
    st.sampled_from(["restcors=*", "[Bitcoin]", "noseedbackup=true", "alias=x", ""]),
)


@given(
    name=st.sampled_from([n for n, each in TABLE.items() if each.kind not in PLAIN]),
    value=EVIL,
)
@settings(max_examples=500, suppress_health_check=[HealthCheck.filter_too_much])
def test_no_string_of_any_setting_becomes_another_option(name: str, value: str) -> None:
    node = with_setting(a_signed_node(), name, value)
    try:
        content = render(node, OPTIONS, Path("/nodes/7"))["lnd.conf"]
    except Malformed:
        return
    written = conf.read(content)
    once = [key for key, _ in written if key not in REPEATABLE]
    assert len(once) == len(set(once))
    assert {key for key, _ in written} <= KNOWN
    assert b"restcors" not in [line.partition(b"=")[0] for line in content.split(b"\n")]


class Doubtful(Neutrino, frozen=True):
    """A backend that names what the node's own settings have named already."""

    def lines(self) -> Iterator[tuple[str, str]]:
        yield "alias", "another light"


def test_what_lnd_would_read_otherwise_is_refused_before_it_is_written(
    tmp_path: Path,
) -> None:
    options = replace(OPTIONS, backend=Doubtful())
    with pytest.raises(Malformed, match="an option is set twice"):
        write(tmp_path / "lnd", a_node(), options, tls=TLS)
    assert not (tmp_path / "lnd").exists()


@pytest.mark.parametrize("socks", ["", "127.0.0.1:9050"])
def test_lnd_uses_tor_if_the_owner_wants_it_and_the_operator_has_it(socks: str) -> None:
    options = replace(OPTIONS, tor_socks=socks)
    uses = {"tor.active": "true", "tor.socks": socks} if socks else {}
    for wanted in (True, False):
        node = with_setting(a_node(), "torskipproxyforclearnettargets", wanted)
        written = dict(lines(node, options, Path("/nodes/7")))
        tor = {key: value for key, value in written.items() if key.startswith("tor.")}
        skips = {"tor.skip-proxy-for-clearnet-targets": str(wanted).lower()}
        assert tor == (skips | uses if wanted else skips)
