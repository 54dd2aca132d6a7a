import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from leyden.base.database import sealing_keys
from leyden.base.database.every_table import metadata
from leyden.base.database.schema import connected, migrate
from leyden.base.database.secrets import Keyring, Sealer, load_keyring, save_keyring
from leyden.base.database.tables import answers
from leyden.errors import SetupError
from leyden.operators import key_rotation

SEED = b"abandon ability able about above absent"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of an installation's keys."""
    path = tmp_path / "secrets.json"
    save_keyring(path, Keyring.new())
    return path


def test_what_is_sealed_opens_for_its_purpose_only() -> None:
    sealer = Sealer(Keyring.new())
    sealed = sealer.seal(SEED, purpose="seed of 1N")
    assert sealer.open(sealed, purpose="seed of 1N") == SEED
    assert SEED not in sealed
    assert sealer.seal(SEED, purpose="seed of 1N") != sealed
    with pytest.raises(SetupError, match="the seed can't be decrypted"):
        sealer.open(sealed, purpose="seed of 2N")


def test_every_changed_byte_is_noticed() -> None:
    sealer = Sealer(Keyring.new())
    sealed = sealer.seal(SEED, purpose="seed")
    for position in range(1, len(sealed)):
        changed = bytearray(sealed)
        changed[position] ^= 1
        with pytest.raises(SetupError):
            sealer.open(bytes(changed), purpose="seed")


def test_another_installation_opens_nothing() -> None:
    sealed = Sealer(Keyring.new()).seal(SEED, purpose="seed")
    with pytest.raises(SetupError, match="belongs to this database"):
        Sealer(Keyring.new()).open(sealed, purpose="seed")


def test_a_digest_is_keyed_and_for_one_purpose() -> None:
    one, other = Sealer(Keyring.new()), Sealer(Keyring.new())
    assert one.digest(b"key", purpose="a") == one.digest(b"key", purpose="a")
    assert one.digest(b"key", purpose="a") != one.digest(b"key", purpose="b")
    assert one.digest(b"key", purpose="a") != other.digest(b"key", purpose="a")


def test_the_file_of_keys_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secrets.json"
    keyring = Keyring.new()
    save_keyring(path, keyring)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_keyring(path) == keyring
    assert [each.name for each in path.parent.iterdir()] == ["secrets.json"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"digesting": 1}'])
def test_a_broken_file_of_keys_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(text)
    with pytest.raises(SetupError, match="restore it from your backup"):
        load_keyring(path)


def test_the_keys_of_a_used_database_are_never_made_anew(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path}/leyden.db", tmp_path / "secrets.json"
    migrate(url)
    sealing_keys.refuse_lost(url, path)
    sealing_keys.check(url, Keyring.new())
    with pytest.raises(SetupError, match="restore it from your backup"):
        sealing_keys.refuse_lost(url, path)
    with pytest.raises(SetupError, match="belongs to this database"):
        sealing_keys.check(url, Keyring.new())


def test_rotating_seals_everything_anew_and_keeps_the_old_key_until_the_next_time(
    database_url: str, path: Path
) -> None:
    before = load_keyring(path)
    running = Sealer(before, file=path)
    sealing_keys.check(database_url, before)
    _keep_answers(database_url, running, count=1201)

    assert key_rotation.rotate(database_url, path, pause=_at_once) == 1202

    after = load_keyring(path)
    assert after.sealing[1:] == before.sealing
    assert after.digesting == before.digesting
    with connected(database_url) as connection:
        for (sealed,) in connection.execute(select(answers.c.body)):
            assert Sealer(after).open(sealed, purpose="answer") == SEED
            assert running.open(sealed, purpose="answer") == SEED
            with pytest.raises(SetupError):
                Sealer(before).open(sealed, purpose="answer")


def test_a_running_platform_seals_with_the_new_key_at_once(
    database_url: str, path: Path
) -> None:
    running = Sealer(load_keyring(path), file=path)
    running.seal(SEED, purpose="seed")
    key_rotation.rotate(database_url, path, pause=_at_once)
    # It has opened nothing since: only the file can tell it of the rotation.
    sealed = running.seal(SEED, purpose="seed")
    assert Sealer(load_keyring(path)).is_newest(sealed)
    assert Sealer(load_keyring(path)).open(sealed, purpose="seed") == SEED


def test_a_value_that_is_stored_while_the_keys_are_rotated_is_not_lost(
    database_url: str, path: Path
) -> None:
    before = load_keyring(path)

    def store(_: float) -> None:  # it was sealed before the new key was there
        _keep_answers(database_url, Sealer(before), count=1)

    assert key_rotation.rotate(database_url, path, pause=store) == 1
    assert _open_answer(database_url, path) == SEED


def test_a_value_that_is_stored_after_the_rotation_is_sealed_anew_by_the_next(
    database_url: str, path: Path
) -> None:
    before = load_keyring(path)
    key_rotation.rotate(database_url, path, pause=_at_once)

    # By a process that was frozen since before the rotation.
    _keep_answers(database_url, Sealer(before), count=1)

    assert _open_answer(database_url, path) == SEED
    assert key_rotation.rotate(database_url, path, pause=_at_once) == 1
    assert before.sealing[0] not in load_keyring(path).sealing
    assert _open_answer(database_url, path) == SEED


def test_a_rotation_that_was_interrupted_is_completed_with_the_key_it_added(
    database_url: str, path: Path
) -> None:
    before = load_keyring(path)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        key_rotation.rotate(database_url, path, pause=interrupt)
    added = load_keyring(path).sealing[0]
    key_rotation.rotate(database_url, path, pause=_at_once)
    assert load_keyring(path).sealing == (added, *before.sealing)

    _keep_answers(database_url, Sealer(before), count=1)
    assert _open_answer(database_url, path) == SEED
    key_rotation.rotate(database_url, path, pause=_at_once)
    assert load_keyring(path).sealing[1:] == (added,)


def test_two_rotations_at_once_take_turns(database_url: str, path: Path) -> None:
    before = load_keyring(path)
    _keep_answers(database_url, Sealer(before), count=1)
    is_rotating = threading.Event()

    def rotate_too() -> None:
        key_rotation.rotate(database_url, path, pause=lambda _: is_rotating.set())

    second = threading.Thread(target=rotate_too)

    def begin_another(_: float) -> None:
        second.start()
        assert not is_rotating.wait(0.3)

    key_rotation.rotate(database_url, path, pause=begin_another)
    second.join()
    assert is_rotating.is_set()
    assert _open_answer(database_url, path) == SEED


def test_keys_of_another_installation_are_not_taken_while_running(path: Path) -> None:
    before = load_keyring(path)
    running = Sealer(before, file=path)
    for broken in (Keyring.new(), None):
        if broken is None:
            path.unlink()
        else:
            save_keyring(path, broken)
        sealed = running.seal(SEED, purpose="seed")
        assert Sealer(before).open(sealed, purpose="seed") == SEED


def _at_once(_: float) -> None:
    """Wait for nothing: nobody else seals."""


def _open_answer(url: str, secrets: Path) -> bytes:
    """Open the answer there is with the keys of a process that starts now."""
    with connected(url) as connection:
        sealed = connection.execute(select(answers.c.body)).scalar_one()
    return Sealer(load_keyring(secrets)).open(sealed, purpose="answer")


def _keep_answers(url: str, sealer: Sealer, *, count: int) -> None:
    with connected(url) as connection:
        connection.execute(
            metadata.tables["organization"].insert(),
            [{"id": "harbour", "name": "Harbour Light", "created": 0}],
        )
        connection.execute(
            answers.insert(),
            [
                {
                    "organization_id": "harbour",
                    "key": number.to_bytes(4),
                    "request": b"",
                    "started": 0,
                    "expires": 0,
                    "holder": "",
                    "status": 200,
                    "body": sealer.seal(SEED, purpose="answer"),
                }
                for number in range(count)
            ],
        )


def test_nothing_sealed_is_in_the_file_in_clear(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/leyden.db"
    migrate(url)
    _keep_answers(url, Sealer(Keyring.new()), count=3)
    sqlite3.connect(tmp_path / "leyden.db").execute("PRAGMA wal_checkpoint(FULL)")
    for file in tmp_path.iterdir():
        assert SEED not in file.read_bytes()
