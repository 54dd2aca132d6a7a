"""The key that all coins of a private chain are mined to."""

from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden_workshop.devnet.mining_key import MiningKey


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "mining.key"
    made = MiningKey.load_or_create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert MiningKey.load_or_create(path).witness_program == made.witness_program
    assert [each.name for each in tmp_path.iterdir()] == ["mining.key"]


@pytest.mark.parametrize("text", ["", "walrus", "0", "f" * 65])
def test_a_spoilt_file_is_told_and_not_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mining.key"
    path.write_text(text)
    with pytest.raises(SetupError, match="has no key"):
        MiningKey.load_or_create(path)
    assert path.read_text() == text
