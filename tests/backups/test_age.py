"""What age prints is secret: no error quotes it."""

import asyncio
from pathlib import Path

import pytest

from leyden.backups.store.age import Age
from leyden.errors import SetupError

SECRET = "AGE-SECRET-KEY-1QQQQQQQQ"


def killed_after_printing(path: Path) -> Age:
    """Return programs that print a secret, and are killed, as for want of memory."""
    path.write_text(f"#!/bin/sh\ncat > /dev/null\necho {SECRET}\nkill -9 $$\n")
    path.chmod(0o700)
    return Age(age=path, keygen=path)


@pytest.mark.parametrize("step", ["decrypt", "new_identity"])
def test_an_error_of_age_does_not_quote_what_it_has_decrypted(
    tmp_path: Path, step: str
) -> None:
    age = killed_after_printing(tmp_path / "age")
    calls = {
        "decrypt": lambda: age.decrypt(tmp_path / "keys.age", "the identity"),
        "new_identity": age.new_identity,
    }
    with pytest.raises(SetupError) as error:
        asyncio.run(calls[step]())
    assert SECRET not in str(error.value)
    assert "exit code -9" in str(error.value)
