"""An authority that is not as it should be ends the start."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from leyden import app
from leyden.errors import SetupError
from leyden.settings import Settings
from tests.ports import free_port


def settings(home: Path) -> Settings:
    return Settings(
        home=str(home),
        metrics_port=0,
        api_port=free_port(),
        nodes_fence="off",
        testnet_chain="simnet",
        testnet_backend="neutrino",
    )


@pytest.mark.parametrize("broken", ["root.pem", "intermediate.pem"])
async def test_an_authority_that_cannot_be_read_ends_the_start(
    tmp_path: Path, broken: str
) -> None:
    given = settings(tmp_path)
    app.migrate(given)
    async with app.running(given, loops=False):
        pass
    (tmp_path / "authority" / broken).write_text("not a certificate")
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match="certificate authority"):
            await stack.enter_async_context(app.running(given, loops=False))
