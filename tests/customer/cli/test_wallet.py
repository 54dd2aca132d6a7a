"""What `leyden wallet` does with backups alone; with a real lnd it is in acceptance."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from leyden.client import vault, wallets
from leyden.client.vault import Backup
from leyden.customer.node_settings import of_a_new_node
from leyden.customer.session import opened
from leyden.customer.wallet import keeping, seed_output
from leyden.errors import LeydenError, Malformed, NodeAway, NodeRefused, SetupError
from tests.app.cli.conftest import Typed, printed_json
from tests.authority import Authority
from tests.client.served_platform import ServedPlatform
from tests.client.test_refusals import instead
from tests.customer.cli.locked_node import LockedNode
from tests.events.webhooks.conftest import Serving
from tests.nodes.rules.test_node_settings import SIGNER

VECTORS = json.loads(
    (Path(__file__).parents[2] / "client" / "vectors.json").read_text()
)
OLD_PASSWORD = "harbour light, 灯台"
WORDS = (
    "absent harbour walnut spider olive proud candy truly orbit fabric lemon fancy "
    "prize hover metal river canvas motion garden pepper stone violin zebra worry"
)
ACCOUNTS = {
    "accounts": [
        {"derivation_path": "m/84'/0'/0'", "extended_public_key": "zpub1"},
        {"derivation_path": "m/1017'/1'/255'", "extended_public_key": "xpub2"},
        {"derivation_path": "", "extended_public_key": "of an imported key"},
    ]
}
MACAROON = "0201036c6e6402030312000000" + "0620" + "00" * 32


@pytest.fixture(autouse=True)
def here(
    platform: ServedPlatform, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """A machine with the platform in its environment, and files of its own."""
    monkeypatch.setenv("LEYDEN_URL", platform.url)
    monkeypatch.setenv("LEYDEN_KEY", platform.key)
    monkeypatch.setenv("LEYDEN_WALLET_PASSWORD", "a lamp in every window")
    monkeypatch.setenv("LEYDEN_NEW_PASSWORD", "a light in every window")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("LEYDEN_CA", raising=False)
    monkeypatch.delenv("LEYDEN_GATEWAY", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text(WORDS)
    (tmp_path / "macaroon").write_bytes(bytes.fromhex(MACAROON))
    (tmp_path / "old").write_text(OLD_PASSWORD)
    return tmp_path


@pytest.fixture
def node(platform: ServedPlatform, request: pytest.FixtureRequest) -> str:
    """A node of the test's own; its id."""
    with platform.client() as client:
        settings = of_a_new_node("a light", {}) | {"whitelist": ["::1"]}
        name = f"light {abs(hash(request.node.name)) % 10**9}"
        return client.nodes.create(name, settings=settings).node_id


def test_what_one_has_is_sealed_kept_and_opened(typed: Typed, node: str) -> None:
    assert typed("wallet", "keep", node, "--seed", "words").exit_code == 0
    assert (
        printed_json(typed("wallet", "seed", node, "--json"))["seed"] == WORDS.split()
    )
    shown = typed("wallet", "seed", node)
    assert " 1 absent" in shown.stderr
    assert "absent" not in shown.stdout
    claim_folder = typed(
        "wallet", "keep", node, "--macaroon", "macaroon", "--name", "shop"
    )
    assert claim_folder.exit_code == 0, claim_folder.output
    assert typed("wallet", "show-macaroon", node, "shop").stdout.strip() == MACAROON
    out = typed("wallet", "show-macaroon", node, "shop", "--out", "shop.macaroon")
    assert MACAROON not in out.output
    assert Path("shop.macaroon").read_bytes().hex() == MACAROON
    assert Path("shop.macaroon").stat().st_mode & 0o777 == 0o600


def test_what_an_older_program_sealed_becomes_jwe(
    platform: ServedPlatform, typed: Typed, node: str
) -> None:
    with platform.client() as client:
        client.backups.keep_seed(node, VECTORS["cryptojs_of_base64"])
        printed_json(
            typed("wallet", "reseal", node, "--password-file", "old", "--json")
        )
        sealed = client.backups.seed(node).seed
    claim_folder = Backup(node_id=node, kind="seed", value=sealed)
    assert vault.open_(claim_folder, "a light in every window") == WORDS
    listed = typed("wallet", "replaced", node, "--out", "before.json")
    assert listed.stdout.splitlines()[1].startswith("(seed)  ")
    (before,) = json.loads(Path("before.json").read_text())
    assert before["value"] == VECTORS["cryptojs_of_base64"]
    assert Path("before.json").stat().st_mode & 0o777 == 0o600
    again = typed("wallet", "reseal", node, "--password-file", "old")
    assert again.exit_code == 8
    assert "decrypts none" in again.stderr


def test_a_backup_of_another_node_is_not_opened(
    platform: ServedPlatform, typed: Typed, node: str
) -> None:
    other = "2d7e5f30-8b55-4d4a-8b1f-1d2a3c8e0f66N"
    about = Backup(node_id=other, kind="seed")
    with platform.client() as client:
        sealed = vault.seal(about, WORDS, "a lamp in every window")
        client.backups.keep_seed(node, sealed)
    refused = typed("wallet", "seed", node)
    assert refused.exit_code == 8
    assert "a backup of another node" in refused.stderr
    assert "absent" not in refused.output


def test_a_node_that_cannot_be_reached_says_what_to_look_at(
    typed: Typed, node: str
) -> None:
    for command in ("init", "unlock"):
        away = typed("wallet", command, node)
        assert (away.exit_code, away.stderr.count("\n")) == (6, 1), away.output
        assert "leyden nodes whitelist" in away.stderr


def test_a_node_of_another_authority_says_which_one_to_look_at(
    typed: Typed, node: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a rotation, in a shell that has the root from before."""
    (here / "before.pem").write_text(Authority("before").pem)
    monkeypatch.setenv("LEYDEN_CA", "before.pem")
    with LockedNode(Serving(here)) as served:
        monkeypatch.setenv("LEYDEN_GATEWAY", served.address)
        away = typed("wallet", "unlock", node)
    assert away.exit_code == 6, away.output
    assert "LEYDEN_CA" in away.stderr
    assert "whitelist" not in away.stderr


def test_a_wallet_gets_its_keys_from_a_signer_exactly_where_there_is_one(
    typed: Typed, node: str, here: Path
) -> None:
    (here / "accounts.json").write_text(json.dumps(ACCOUNTS))
    init = ("wallet", "init", node)
    refused = typed(*init, "--watch-only", "accounts.json")
    assert (refused.exit_code, refused.stderr.count("\n")) == (5, 1)
    assert "this node has no signer" in refused.stderr
    with opened("") as session:
        session.client.nodes.change_settings(node, **SIGNER)
    for command in ("init", "restore"):
        refused = typed("wallet", command, node, "--json")
        assert refused.exit_code in {5, 6}, refused.output
    assert "--watch-only" in typed(*init).stderr
    away = typed(*init, "--watch-only", "accounts.json")
    assert away.exit_code == 6, away.output
    for wrong in ("{}", "[]", "words", '{"accounts": [{"derivation_path": "m"}]}'):
        (here / "accounts.json").write_text(wrong)
        refused = typed(*init, "--watch-only", "accounts.json")
        assert refused.exit_code == 2, refused.output
        assert "is not a list of accounts" in refused.stderr


def test_accounts_are_given_to_lnd_by_their_path() -> None:
    (first, second) = wallets.watch_only_accounts(ACCOUNTS)
    assert first == {"purpose": 84, "coin_type": 0, "account": 0, "xpub": "zpub1"}
    assert second == {"purpose": 1017, "coin_type": 1, "account": 255, "xpub": "xpub2"}


@pytest.mark.parametrize(
    "words",
    [
        ("keep", "NODE"),
        ("keep", "NODE", "--macaroon", "macaroon"),
        ("keep", "NODE", "--seed", "words", "--name", "x"),
        ("keep", "NODE", "--seed", "macaroon"),
        ("keep", "NODE", "--macaroon", "words", "--name", "x"),
        ("bake", "NODE", "x"),
        ("bake", "NODE", "x", "--preset", "admin", "--permission", "info:read"),
        ("bake", "NODE", "x", "--preset", "admin", "--ip", "harbour"),
        ("bake", "NODE", "x", "--permission", "money:take"),
        ("revoke", "NODE"),
        ("revoke", "NODE", "x", "--root-key", "1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(
    typed: Typed, node: str, words: tuple[str, ...]
) -> None:
    refused = typed("wallet", *(node if each == "NODE" else each for each in words))
    assert refused.exit_code == 2
    assert "absent" not in refused.output
    assert "Traceback" not in refused.output


def test_two_options_that_exclude_each_other_are_named(typed: Typed, node: str) -> None:
    both = ("--preset", "admin", "--permission", "info:read")
    refused = typed("wallet", "bake", node, "x", *both)
    assert "--preset, --permission: use exactly one" in refused.stderr
    refused = typed("wallet", "revoke", node, "x", "--root-key", "1")
    assert "NAME, --root-key: give exactly one" in refused.stderr


def test_an_admin_macaroon_is_kept_where_none_is(typed: Typed, node: str) -> None:
    with opened("") as session:
        found = session.client.nodes.wait(node, {"waiting_init"})
        absent = typed("wallet", "bake", node, "reader", "--preset", "read-only")
        assert f"leyden wallet init {found.node_name!r}" in absent.stderr
        password = "a lamp in every window"
        assert keeping.keep_admin(session, found, MACAROON, password)
        assert not keeping.keep_admin(session, found, "00", password)
    assert typed("wallet", "show-macaroon", node, "admin").stdout.strip() == MACAROON


def test_a_short_new_password_is_refused_before_anything(
    typed: Typed, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_NEW_PASSWORD", "short")
    refused = typed("wallet", "password", node, "--yes")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)


def test_a_seed_that_the_platform_does_not_take_is_in_a_file(
    platform: ServedPlatform, typed: Typed, node: str
) -> None:
    with opened("") as session, pytest.raises(SetupError) as failed:
        found = session.node(node)

        def make() -> str:
            platform.before = [instead(503, retry_after="3600")]
            return MACAROON

        password = "a lamp in every window"
        keeping.create_and_store(session, found, WORDS.split(), password, make)
    (file,) = (Path("state") / "leyden").iterdir()
    assert str(file.absolute()) in failed.value.message
    assert file.stat().st_mode & 0o777 == 0o600
    assert "absent" not in file.read_text()
    claim_folder = typed("wallet", "keep", node, "--seed", str(file))
    assert claim_folder.exit_code == 0, claim_folder.output
    assert (
        printed_json(typed("wallet", "seed", node, "--json"))["seed"] == WORDS.split()
    )


def test_a_wallet_that_was_not_made_leaves_no_file(node: str) -> None:
    def make() -> str:
        raise NodeRefused("wallet already exists")

    with opened("") as session, pytest.raises(NodeRefused):
        keeping.create_and_store(
            session, session.node(node), WORDS.split(), "a lamp in every window", make
        )
    assert not list((Path("state") / "leyden").iterdir())


@pytest.mark.parametrize(
    "lost",
    [
        NodeAway("the node does not respond: timeout"),
        NodeRefused("transport is closing", code=14),
    ],
    ids=["away", "ended"],
)
def test_a_seed_of_which_a_wallet_may_have_been_made_stays_in_its_file(
    typed: Typed, node: str, lost: LeydenError
) -> None:
    def make() -> str:
        raise lost

    with opened("") as session, pytest.raises(NodeAway) as failed:
        keeping.create_and_store(
            session, session.node(node), WORDS.split(), "a lamp in every window", make
        )
    (file,) = (Path("state") / "leyden").iterdir()
    assert f"--seed {file.absolute()}" in failed.value.message
    assert typed("wallet", "keep", node, "--seed", str(file)).exit_code == 0
    assert (
        printed_json(typed("wallet", "seed", node, "--json"))["seed"] == WORDS.split()
    )


def test_words_that_stay_unknown_make_no_wallet() -> None:
    @click.command()
    def request() -> None:
        seed_output.confirm_seed(WORDS.split())

    wrong = CliRunner().invoke(request, input="seagull\n" * 9)
    assert isinstance(wrong.exception, Malformed)
    assert "no wallet was created" in wrong.exception.message
    assert wrong.stderr.count("Anyone who has them") == 3
    nobody = CliRunner().invoke(request, input="")
    assert isinstance(nobody.exception, Malformed)
    assert "--hide-seed" in nobody.exception.message
