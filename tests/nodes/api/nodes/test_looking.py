"""What an owner can look at: logs, ways in, figures, lnd's backup, versions."""

import base64
from typing import Any

import pytest
from cryptography import x509

from leyden.nodes.gateway.base import Traffic
from leyden.nodes.runtimes.base import Usage
from tests.base.api.conftest import Caller
from tests.nodes.fleet_harness import FleetHarness


async def test_the_end_of_the_log(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    fleet_harness.node_files.logs[node["node_id"]] = [
        f"line {number}" for number in range(300)
    ]
    answer = (await alice.get(f"{path}/logs?lines=2")).json()
    assert answer == {"node_id": node["node_id"], "lines": ["line 298", "line 299"]}
    assert len((await alice.get(f"{path}/logs")).json()["lines"]) == 100


@pytest.mark.parametrize("lines", ["0", "-1", "1001", "all", ""])
async def test_the_log_has_a_sensible_length(
    alice: Caller, path: str, lines: str
) -> None:
    assert (await alice.get(f"{path}/logs?lines={lines}")).status == 400


async def test_the_way_in(alice: Caller, path: str) -> None:
    name = (await alice.get(path)).json()["api_endpoint"]
    way = (await alice.get(f"{path}/connect")).json()
    assert way["rest_url"] == f"https://{name}:8080"
    assert way["grpc_address"] == f"{name}:10009"
    assert way["hosts_line"] == f"127.0.0.1 {name}"
    assert way["tls_cert"] == (await alice.get(f"{path}/cert")).json()["tls_cert"]
    url, _, answer = way["lndconnect"].partition("?cert=")
    assert url == f"lndconnect://{name}:10009"
    padded = answer + "=" * (-len(answer) % 4)
    x509.load_der_x509_certificate(base64.urlsafe_b64decode(padded))
    assert "macaroon" not in way["lndconnect"]


async def test_figures(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    fleet_harness.gateway.counted[node["node_id"]] = Traffic(3, 400, 5_000)
    await fleet_harness.later(seconds=90)
    assert (await alice.get(f"{path}/metrics")).json() == {
        "node_id": node["node_id"],
        "status": "waiting_init",
        "uptime_s": 90,
        "crashes": 0,
        "memory_bytes": 1,
        "cpu_s": 0.0,
        "cpu_cores": None,
        "disk_bytes": 1,
        "connections": 3,
        "bytes_in": 400,
        "bytes_out": 5_000,
    }


async def test_a_figure_that_is_not_known_is_null(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    fleet_harness.gateway.is_elsewhere = True
    fleet_harness.node_files.used[node["node_id"]] = Usage()
    figures = (await alice.get(f"{path}/metrics")).json()
    unknown = {name for name, value in figures.items() if value is None}
    assert unknown == {
        *("memory_bytes", "cpu_s", "cpu_cores", "disk_bytes"),
        *("connections", "bytes_in", "bytes_out"),
    }
    fleet_harness.node_files.used[node["node_id"]] = Usage(memory=94, cpu_cores=0.25)
    figures = (await alice.get(f"{path}/metrics")).json()
    assert (figures["memory_bytes"], figures["cpu_s"]) == (94, None)
    assert figures["cpu_cores"] == 0.25


async def test_lnds_own_backup_of_channels(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    assert (await alice.get(f"{path}/backup")).status == 404
    fleet_harness.node_files.channel_backups[node["node_id"]] = b"encrypted by lnd"
    answer = (await alice.get(f"{path}/backup")).json()
    assert base64.b64decode(answer["channel_backup"]) == b"encrypted by lnd"
    del fleet_harness.node_files.channel_backups[node["node_id"]]
    assert (await alice.get(f"{path}/backup")).json() == answer, "it was kept"


async def test_versions_and_what_they_drop(alice: Caller) -> None:
    answer = (await alice.get("/versions")).json()
    assert answer["service_version"] == "0.1.0"
    found = {each["lnd_version"]: each for each in answer["versions"]}
    assert list(found) == ["v0.20.1-beta", "v0.20.2-beta", "v0.21.2-beta"]
    assert [name for name, each in found.items() if each["default"]] == ["v0.20.2-beta"]
    assert "/v1/channels/transactions" in found["v0.21.2-beta"]["drops"][0]
