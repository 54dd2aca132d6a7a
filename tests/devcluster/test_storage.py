"""Which claims get a volume, and which volumes go."""

from pathlib import Path
from typing import Any

import pytest

from leyden_workshop.devcluster import storage

CLAIM: dict[str, Any] = {
    "metadata": {
        "name": "harbour",
        "namespace": "nodes",
        "uid": "3be169c1",
        "annotations": {"volume.kubernetes.io/selected-node": "machine-2"},
    },
    "spec": {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": "2Gi"}},
    },
}


def claim(*, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = dict(CLAIM["metadata"])
    if annotations is not None:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": {**CLAIM["spec"], **spec}}


def released(**spec: Any) -> dict[str, Any]:
    volume = storage.volume(CLAIM, "machine-2")
    return {
        **volume,
        "spec": {**volume["spec"], **spec},
        "status": {"phase": "Released"},
    }


def test_a_claim_gets_a_volume_where_its_pod_will_run() -> None:
    assert storage.wanting(CLAIM) == "machine-2"


@pytest.mark.parametrize(
    "other",
    [
        claim(annotations={}),
        claim(storageClassName="somebody-elses"),
        claim(volumeName="pvc-3be169c1"),
        {**CLAIM, "metadata": {**CLAIM["metadata"], "deletionTimestamp": "now"}},
        claim(annotations={"volume.kubernetes.io/selected-node": "../../etc"}),
    ],
)
def test_other_claims_get_none(other: dict[str, Any]) -> None:
    assert storage.wanting(other) is None


def test_a_volume_is_for_its_claim_alone_and_on_one_machine() -> None:
    volume = storage.volume(CLAIM, "machine-2")
    assert volume["metadata"]["name"] == "pvc-3be169c1"
    assert volume["spec"]["claimRef"]["uid"] == "3be169c1"
    assert volume["spec"]["accessModes"] == ["ReadWriteOncePod"]
    assert volume["spec"]["capacity"] == {"storage": "2Gi"}
    assert volume["spec"]["local"] == {"path": "/var/lib/volumes/pvc-3be169c1"}
    place = storage.folder(Path("/cluster"), "machine-2", "pvc-3be169c1")
    assert place == Path("/cluster/machine-2/var/lib/volumes/pvc-3be169c1")


def test_a_released_volume_goes_from_where_it_was() -> None:
    assert storage.to_remove(released()) == "machine-2"


def test_a_volume_that_is_to_be_retained_stays() -> None:
    retained = storage.volume(claim(storageClassName="local-retained"), "machine-1")
    assert retained["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert storage.to_remove({**retained, "status": {"phase": "Released"}}) is None


def test_a_volume_in_use_or_of_somebody_else_stays() -> None:
    assert storage.to_remove({**released(), "status": {"phase": "Bound"}}) is None
    strange = released()
    strange["metadata"] = {"name": "pvc-3be169c1"}
    assert storage.to_remove(strange) is None
