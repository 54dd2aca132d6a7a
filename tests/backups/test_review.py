"""What a person reviews in a restored database."""

import shutil
from pathlib import Path

from leyden.backups import review
from leyden.base.database.database import open_database
from leyden.base.database.secrets import Sealer
from leyden.channels.direct.base import Lsps
from leyden.channels.rules.sources import Source
from leyden.channels.services import BuyingSettings
from leyden.values import replace
from tests.channels.orders_harness import OrdersHarness
from tests.channels.test_direct_channels import channel
from tests.conftest import NOW
from tests.fakes.lsp import FakeLsp, FakePayer


async def test_orders_that_may_be_paid_to_another_lsp_are_named(
    sqlite_template: Path, sealer: Sealer, tmp_path: Path
) -> None:
    shutil.copy(sqlite_template, tmp_path / "leyden.db")
    url = f"sqlite:///{tmp_path}/leyden.db"
    lsp = FakeLsp(clock=lambda: NOW)
    database = await open_database(url)
    harness = OrdersHarness(database=database, sealer=sealer)
    harness.lsps = Lsps(("https://lsp.example",), lambda _url: lsp)
    harness.payer = FakePayer(lsp)
    harness.rules = replace(
        harness.rules, sources=(Source.LSPS1,), buying=BuyingSettings()
    )
    await harness.open()
    order = await harness.create(channel())
    await database.close()
    (found,) = (await review.prepare(url, now=NOW)).lists["orders under way"]
    assert found == (
        f"{order.id}, waiting_payment, may be paid to https://lsp.example since: "
        "compare it with the payments of your lnd that pays"
    )
