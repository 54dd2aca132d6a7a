"""A platform whose machines' clocks are wrong, beside a cluster whose clocks are right.

Leyden's API server is ten minutes ahead of the database, of Kubernetes and of nodes,
its worker ten minutes behind. One of them dies, and nothing waits for a time that was
written by its clock.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from leyden.app.migration import migrate
from leyden.runtimes.kubernetes import manifests
from leyden.settings import Settings
from leyden.storage.database import open_database
from leyden.values import replace
from tests import clocks
from tests.devcluster import quay as quays
from tests.devcluster.clusters import lnds_of
from tests.devcluster.served import Served
from tests.devcluster.test_platform import (
    Shore,
    as_admin,
    free,
    given,
    shore,
    with_companion,
)

__all__ = ["given", "shore"]

pytestmark = [pytest.mark.real, pytest.mark.long, pytest.mark.timeout(600)]

WRONG_S = 600
TOLD = ("waiting_init", "stopped", "waiting_init")
CLOSE = timedelta(seconds=60)


async def test_what_machines_think_of_the_time_changes_nothing(
    shore: Shore, given: Settings, tmp_path: Path, postgres_url: str
) -> None:
    namespace = shore.others[4]
    given = replace(
        as_admin(with_companion(given, shore.cluster), shore, namespace),
        database_url=postgres_url,
        webhooks_over_http=True,
        webhook_networks="127.0.0.1/32",
        webhook_ports="1024-65535",
    )
    migrate(given)
    began = datetime.now(UTC)
    with Served(given) as served, quays.receiver("127.0.0.1") as (url, taken):
        ahead = clocks.ahead(tmp_path, seconds=WRONG_S)
        behind = clocks.ahead(tmp_path, seconds=-WRONG_S)
        served.begin("serve", by=ahead)
        served.begin("worker", by=behind)
        customer = served.customer()
        node = await customer.create(webhook=url)
        await customer.is_(node, "waiting_init")
        assert served.said().count("this machine's clock is not the database's") == 2
        assert await customer.state(node) == {"state": "NON_EXISTING"}
        await customer.call("POST", f"/{node}/stop")
        await customer.is_(node, "stopped")
        # Nothing of the one that dies is its own for longer than of any other.
        served.kill("worker")
        killed = time.monotonic()
        await customer.call("POST", f"/{node}/start")
        served.begin("worker", by=ahead)
        await customer.is_(node, "waiting_init")
        assert time.monotonic() - killed < WRONG_S / 5
        database = await open_database(postgres_url)
        try:
            stored = await database.reader.nodes.get(node)
            spec = await database.reader.launch_specs.get(node)
            reported = await database.reader.node_reports.find(node)
        finally:
            await database.close()
        now = datetime.now(UTC)
        assert lnds_of(manifests.name(stored)) != []
        for at in (stored.created, stored.launched_at):
            assert at is not None
            assert began - CLOSE < at < now + CLOSE
        leaf = x509.load_pem_x509_certificates(spec.certificate)[0]
        assert leaf.not_valid_before_utc < began
        assert reported is not None, "its companion is listened to"
        assert began - CLOSE < reported.at < now + CLOSE
        async with asyncio.timeout(60):
            while len({each["id"] for each in taken}) < len(TOLD):
                await asyncio.sleep(0.1)
        for each in taken:
            sent = datetime.fromtimestamp(int(each["timestamp"]), UTC)
            assert began - CLOSE < sent < now + CLOSE
        told = {each["id"]: each["details"]["status"] for each in taken}
        assert tuple(told.values()) == TOLD
    free(shore.cluster, namespace)
