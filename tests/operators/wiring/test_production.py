"""What is tried before an installation goes live, and that the guide has the same."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from leyden.app import installation
from leyden.backups.rows.backup_results import BackupResult
from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.rules.versions import OFFERED
from leyden.operators.production import (
    ITEMS,
    Result,
    chains,
    examine,
    machine,
    names,
    upkeep,
)
from leyden.values import replace
from tests.ports import free_port


def platform_of(db: Database, sealer: Sealer, **given: object) -> Platform:
    settings = Settings(**given)  # type: ignore[arg-type]
    return Platform(settings=settings, database=db, sealer=sealer, clock=utc_now)


def test_the_guide_has_each_item_in_the_same_words() -> None:
    guide = " ".join(Path("docs/operators/going-live.md").read_text().split())
    for what in ITEMS:
        assert f"**{what}**" in guide, what


async def test_whatever_is_missing_each_item_says_what_to_do(
    sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    platform = platform_of(
        sqlite_db,
        sealer,
        home=str(tmp_path),
        metrics_port=0,
        webhooks_over_http=True,
        nodes_fence="off",
    )
    found: list[Result] = [each async for each in examine(platform)]
    assert [each.what for each in found] == list(ITEMS)
    to_do = {each.what: each.to_do for each in found}
    assert to_do["nodes can run on mainnet"].startswith("set mainnet_backend")
    assert to_do["webhooks use TLS only"] == "set webhooks_over_http = false"
    assert (
        to_do["the egress policy of nodes is enforced"]
        == 'set nodes_fence = "required"'
    )
    assert (
        "leyden backup init" in to_do["backups are stored on another disk or machine"]
    )
    assert to_do["metrics can be scraped"] == "set metrics_port, and scrape it"
    assert "leyden operators add" in to_do["operators sign in with a second factor"]
    assert to_do["nothing needs attention"].startswith("nobody has checked")
    assert to_do["commits survive a power cut"] == ""


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.3", "0.0.0.0"])  # noqa: S104
async def test_metrics_are_where_they_are_set_to_be(
    sqlite_db: Database, sealer: Sealer, host: str
) -> None:
    port = free_port()
    platform = platform_of(sqlite_db, sealer, metrics_host=host, metrics_port=port)
    assert "does not respond" in await upkeep.metrics(platform)
    async with installation._metrics(platform.settings):
        assert await upkeep.metrics(platform) == ""
    with pytest.raises(SetupError, match="metrics_host"):
        async with installation._metrics(replace(platform.settings, metrics_host="?")):
            pass


async def test_of_pods_the_cluster_is_asked_and_not_this_machine(
    sqlite_db: Database, sealer: Sealer
) -> None:
    listed = ",".join(f"{each}=lnd@sha256:{'0' * 64}" for each in OFFERED.versions)
    platform = platform_of(
        sqlite_db,
        sealer,
        runtime="kubernetes",
        kubeconfig="/nowhere",
        kubernetes_namespace="lnds",
        kubernetes_images=listed,
        nodes_cgroups="off",
        nodes_fence="off",
    )
    for check in (machine.users, machine.shares, machine.memory, machine.programs):
        assert await check(platform) == "", check
    with pytest.raises(SetupError, match="kubeconfig"):
        await machine.egress_policy(platform)
    first, _, rest = listed.partition(",")
    fewer = platform_of(sqlite_db, sealer, runtime="kubernetes", kubernetes_images=rest)
    version = first.partition("=")[0]
    assert await machine.programs(fewer) == f"add {version} to kubernetes_images"


@asynccontextmanager
async def backend(answers: Mapping[str, object]) -> AsyncIterator[str]:
    """A stand-in for a bitcoind, which answers by method."""

    async def answer(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != "Basic dXNlcjpzZWNyZXQ=":
            return web.Response(status=401)
        body = json.loads(await request.read())
        found = answers[body["method"]]
        return web.json_response({"result": found, "error": None, "id": 1})

    app = web.Application()
    app.router.add_post("/", answer)
    async with TestServer(app) as server:
        yield f"127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    ("answers", "synced", "fees"),
    [
        (
            {
                "getblockchaininfo": {"blocks": 100, "headers": 100},
                "estimatesmartfee": {"feerate": 0.0001},
            },
            "",
            "",
        ),
        (
            {
                "getblockchaininfo": {"blocks": 10, "headers": 100},
                "estimatesmartfee": {"errors": ["none"]},
            },
            "mainnet: wait: the backend is at block 10 of 100",
            "wait: the backend has no fee estimate yet",
        ),
    ],
)
async def test_a_chain_backend_is_asked_how_far_it_is(
    sqlite_db: Database,
    sealer: Sealer,
    answers: dict[str, object],
    synced: str,
    fees: str,
) -> None:
    async with backend(answers) as host:
        platform = platform_of(
            sqlite_db,
            sealer,
            mainnet_backend="bitcoind",
            mainnet_rpc_host=host,
            mainnet_rpc_user="user",
            mainnet_rpc_password="secret",
        )
        assert await chains.synced(platform) == synced
        assert await chains.fees(platform) == fees


async def test_a_chain_backend_that_refuses_or_is_away_is_named(
    sqlite_db: Database, sealer: Sealer
) -> None:
    async with backend({}) as host:
        platform = platform_of(
            sqlite_db,
            sealer,
            mainnet_backend="bitcoind",
            mainnet_rpc_host=host,
            mainnet_rpc_password="another",
        )
        with pytest.raises(SetupError, match="mainnet_rpc_password: refused"):
            await chains.synced(platform)
    with pytest.raises(SetupError, match=r"mainnet_rpc_host: .*connection refused"):
        await chains.synced(platform)


async def test_what_is_no_fee_estimator_is_named(
    sqlite_db: Database, sealer: Sealer
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="<html>")

    async def fees(url: str) -> str:
        platform = platform_of(
            sqlite_db, sealer, mainnet_backend="neutrino", mainnet_fee_url=url
        )
        return await chains.fees(platform)

    app = web.Application()
    app.router.add_get("/fees", answer)
    async with TestServer(app) as server:
        url = str(server.make_url("/fees"))
        assert await fees(url) == f"mainnet_fee_url: {url}: its answer can't be read"
    assert "connection refused" in await fees(url)
    assert "it is not a valid URL" in await fees("https://:80")


async def test_a_name_of_a_node_has_to_resolve_and_its_ports_to_be_open(
    sqlite_db: Database, sealer: Sealer
) -> None:
    here = platform_of(sqlite_db, sealer)
    assert "which nobody else can resolve" in await names.nodes(here)
    lost = platform_of(sqlite_db, sealer, nodes_domain="nodes.example.invalid.x")
    assert "add a DNS record *.nodes.example.invalid.x" in await names.nodes(lost)


async def test_a_drill_with_the_recovery_key_is_due_every_quarter(
    sqlite_db: Database, sealer: Sealer, tmp_path: Path
) -> None:
    platform = platform_of(
        sqlite_db, sealer, home=str(tmp_path), backup_store=str(tmp_path / "store")
    )
    (tmp_path / "backup").mkdir()
    (tmp_path / "backup/password").touch()
    assert "--key" in await upkeep.attended(platform)
    for ok, why in ((True, ""), (False, "no such key")):
        async with sqlite_db.transaction() as tx:
            backup_result = BackupResult(
                kind="attended", ok=ok, at=utc_now(), took_ms=1, detail=why
            )
            await tx.backup_results.keep(backup_result)
        answer = await upkeep.attended(platform)
        assert (
            "failed: no such key. Fix that, then run" in answer if why else answer == ""
        )
    (tmp_path / "backup/password").unlink()
    assert await upkeep.attended(platform) == "first set up backups, see above"
