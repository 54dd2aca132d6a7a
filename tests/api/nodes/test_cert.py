import base64
from typing import Any

from cryptography import x509

from tests.api.conftest import Caller
from tests.services.yard import Yard


async def test_it_is_base64_of_a_chain_for_the_nodes_name_alone(
    alice: Caller, path: str, node: dict[str, Any], yard: Yard
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
    assert pem.startswith(yard.runtime.homes[node["node_id"]].tls.chain_pem)


async def test_renewing_gives_another_and_restarts_the_node(
    alice: Caller, path: str, yard: Yard
) -> None:
    before = (await alice.get(f"{path}/cert")).json()
    after = (await alice.post(f"{path}/tls", {})).json()
    assert after != before
    assert (await alice.get(path)).json()["status"] == "restarting"
    await yard.work()
    assert (await alice.get(path)).json()["status"] == "waiting_init"
    assert (await alice.get(f"{path}/cert")).json() == after
