"""The message of `leyden up`."""

import pytest

from leyden.base.settings import Settings
from leyden_workshop.devnet.welcome import message

ACCOUNT = {"dashboard_login": {"email": "alice@example.com", "password": "harbour"}}


@pytest.mark.parametrize("jit", [True, False])
def test_the_purse_is_mentioned_if_there_is_one(*, jit: bool) -> None:
    text = message(Settings(devnet_jit=jit), ACCOUNT, 1.0, opens="")
    assert ("leyden jit " in text) is jit
    assert ("sells just-in-time channels" in text) is jit
