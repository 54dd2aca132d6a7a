"""Settings that nodes in a cluster cannot have, before anything is called."""

from pathlib import Path

import pytest

from leyden.app.migration import migrate
from leyden.base.opening import opened
from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.wiring import adoption, egress
from leyden.nodes.wiring.clusters import images, joined, offered, scheduling
from leyden.values import replace

DIGEST = "0" * 64
GIVEN = Settings(
    runtime="kubernetes",
    testnet_chain="simnet",
    testnet_backend="neutrino",
    kubeconfig="/nowhere",
    kubernetes_namespace="lnds",
    kubernetes_storage_class="retained",
)


async def refused(given: Settings) -> str:
    with pytest.raises(SetupError) as refusal:
        await joined(given).__aenter__()
    return refusal.value.message


async def test_on_mainnet_nodes_have_companions() -> None:
    alone = replace(GIVEN, mainnet_backend="neutrino")
    assert (await refused(alone)).startswith(
        "companion_image: must be set, since mainnet_backend is: "
    )
    accompanied = replace(
        alone,
        companion_image=f"companion@sha256:{DIGEST}",
        companion_url="https://10.0.0.1:8010",
    )
    assert (await refused(accompanied)).startswith("kubernetes_images: must name")


async def test_what_has_to_be_set_is_named() -> None:
    for name, given in {
        "kubernetes_namespace": replace(GIVEN, kubernetes_namespace=""),
        "kubernetes_storage_class": replace(GIVEN, kubernetes_storage_class=""),
    }.items():
        assert (await refused(given)).startswith(f"{name}: must be set")


async def test_without_an_image_of_the_default_version_nothing_is_begun() -> None:
    other = replace(GIVEN, kubernetes_images=f"v0.20.1-beta=lnd@sha256:{DIGEST}")
    why = await refused(other)
    assert f"kubernetes_images: must name an image of {OFFERED.default}" in why


def test_what_has_no_image_is_not_offered() -> None:
    images_of = f"{OFFERED.default}=lnd@sha256:{DIGEST}"
    found = offered(replace(GIVEN, kubernetes_images=images_of))
    assert found.versions == (OFFERED.default,)
    assert offered(Settings()) == OFFERED


async def test_where_nodes_run_here_or_nowhere_no_cluster_is_asked() -> None:
    for given in (
        replace(GIVEN, runtime="local"),
        replace(GIVEN, testnet_chain=""),
    ):
        async with joined(given) as cluster:
            assert cluster is None


def test_images_are_named_by_what_they_hold() -> None:
    image = f"registry.example:5000/lnd@sha256:{DIGEST}"
    text = f"{OFFERED.default}={image}, v0.20.1-beta=lnd@sha256:{DIGEST}"
    found = images(replace(GIVEN, kubernetes_images=text))
    assert found[OFFERED.default] == image
    assert len(found) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("v0.20.2-beta=lnd:v0.20.2", 'v0.20.2-beta: "lnd:v0.20.2" must name'),
        (f"0.20.2=lnd@sha256:{DIGEST}", "kubernetes_images: must look like"),
        ("v0.20.2-beta", "must name an image by its digest"),
        (f"v0.20.2-beta=lnd@sha256:{DIGEST[:-1]}", "64 hexadecimal digits"),
    ],
)
async def test_an_image_that_could_be_another_tomorrow_is_refused(
    text: str, why: str
) -> None:
    assert why in await refused(replace(GIVEN, kubernetes_images=text))


@pytest.mark.parametrize(
    ("image", "url", "why"),
    [
        ("companion:1", "https://10.0.0.1:8010", "companion_image: "),
        (f"companion@sha256:{DIGEST}", "", "companion_url: must be https://"),
        (f"companion@sha256:{DIGEST}", "http://10.0.0.1:8010", "companion_url: "),
        (f"companion@sha256:{DIGEST}", "https://10.0.0.1/more", "companion_url: "),
    ],
)
async def test_a_companion_that_could_not_report_is_refused(
    image: str, url: str, why: str
) -> None:
    given = replace(GIVEN, companion_image=image, companion_url=url)
    assert (await refused(given)).startswith(why)


def test_the_egress_policy_of_this_machine_is_not_asked_for() -> None:
    assert egress.required_because(replace(GIVEN, api_host="0.0.0.0")) == ""  # noqa: S104


async def test_there_is_no_home_to_adopt(tmp_path: Path) -> None:
    given = replace(GIVEN, home=str(tmp_path))
    migrate(given)
    async with opened(given) as platform:
        with pytest.raises(SetupError, match="nothing to adopt"):
            await adoption.standing(platform)


def test_machines_of_nodes_are_named_by_labels_and_taints() -> None:
    given = replace(
        GIVEN,
        kubernetes_node_selector="pool=nodes, example.com/disk=",
        kubernetes_tolerations="dedicated=nodes:NoSchedule, gpu, x=, y:NoExecute",
    )
    assert scheduling(given) == {
        "nodeSelector": {"pool": "nodes", "example.com/disk": ""},
        "tolerations": [
            {"key": "dedicated", "value": "nodes", "effect": "NoSchedule"},
            {"key": "gpu", "operator": "Exists"},
            {"key": "x", "value": ""},
            {"key": "y", "operator": "Exists", "effect": "NoExecute"},
        ],
    }
    assert scheduling(GIVEN) == {"nodeSelector": {}, "tolerations": []}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kubernetes_node_selector", "pool", '"pool" is not a label: KEY=VALUE'),
        ("kubernetes_node_selector", "pool=a b", '"pool=a b" is not a label'),
        ("kubernetes_tolerations", "a:Never", '"a:Never" is not a taint: KEY'),
        ("kubernetes_tolerations", ":NoSchedule", '":NoSchedule" is not a taint'),
    ],
)
async def test_what_is_no_label_or_taint_is_refused(
    name: str, text: str, message: str
) -> None:
    given = replace(GIVEN, **{name: text})  # type: ignore[arg-type]
    assert (await refused(given)).startswith(f"{name}: {message}")
