import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from leyden.nodes.certificates.authority import open_or_create
from tests.base.api.conftest import Caller
from tests.nodes.fleet_harness import FleetHarness


async def test_it_is_base64_of_a_chain_for_the_nodes_name_alone(
    alice: Caller, path: str, node: dict[str, Any], fleet_harness: FleetHarness
) -> None:
    answer = (await alice.get(f"{path}/cert")).json()
    assert answer["node_id"] == node["node_id"]
    assert set(answer) == {"node_id", "tls_cert"}
    pem = base64.b64decode(answer["tls_cert"], validate=True)
    leaf, *rest = x509.load_pem_x509_certificates(pem)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    endpoint = (await alice.get(path)).json()["api_endpoint"]
    assert names.value.get_values_for_type(x509.DNSName) == [endpoint]
    assert names.value.get_values_for_type(x509.IPAddress) == []
    for signed, signer in zip([leaf, *rest], rest, strict=False):
        signed.verify_directly_issued_by(signer)
    assert b"PRIVATE KEY" not in pem
    assert pem.startswith(fleet_harness.runtime.homes[node["node_id"]].tls.chain_pem)


async def test_one_from_elsewhere_is_served(
    alice: Caller, path: str, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    endpoint = (await alice.get(path)).json()["api_endpoint"]
    theirs = open_or_create(tmp_path / "theirs", now=fleet_harness.now).issue(
        endpoint, now=fleet_harness.now
    )
    handed_in = {
        "certificate": theirs.chain_pem.decode(),
        "key": theirs.key_pem.decode(),
    }
    answer = await alice.post(f"{path}/tls", handed_in)
    assert base64.b64decode(answer.json()["tls_cert"]) == theirs.chain_pem
    await fleet_harness.work()
    node_id = answer.json()["node_id"]
    assert fleet_harness.runtime.homes[node_id].tls == theirs


@pytest.mark.parametrize("missing", ["certificate", "key"])
async def test_one_from_elsewhere_is_looked_at_first(
    alice: Caller, path: str, fleet_harness: FleetHarness, tmp_path: Path, missing: str
) -> None:
    authority = open_or_create(tmp_path / "theirs", now=fleet_harness.now)
    endpoint = (await alice.get(path)).json()["api_endpoint"]
    before = (await alice.get(f"{path}/cert")).json()
    tls = authority.issue(endpoint, now=fleet_harness.now)
    good = {"certificate": tls.chain_pem.decode(), "key": tls.key_pem.decode()}
    other = authority.issue("harbour.example", now=fleet_harness.now).chain_pem.decode()
    for wrong in (
        {name: value for name, value in good.items() if name != missing},
        {**good, missing: "-----BEGIN PRIVATE KEY-----"},
        {**good, "certificate": other},
    ):
        answer = await alice.post(f"{path}/tls", wrong)
        assert answer.status == 400
        assert {"message", "code", "doc_url"} <= set(answer.json())
        assert "PRIVATE KEY" not in answer.body.decode()
    assert (await alice.get(f"{path}/cert")).json() == before
    assert (await alice.get(path)).json()["status"] == "waiting_init"


async def test_renewing_gives_another_and_restarts_the_node(
    alice: Caller, path: str, fleet_harness: FleetHarness
) -> None:
    before = (await alice.get(f"{path}/cert")).json()
    after = (await alice.post(f"{path}/tls", {})).json()
    assert after != before
    assert (await alice.get(path)).json()["status"] == "restarting"
    await fleet_harness.work()
    assert (await alice.get(path)).json()["status"] == "waiting_init"
    assert (await alice.get(f"{path}/cert")).json() == after
