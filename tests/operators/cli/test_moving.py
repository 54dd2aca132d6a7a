"""`leyden fleet move`: what is refused, and what is begun."""

import os
from typing import Any

import pytest

from leyden.base import settings
from leyden.base.platform import Platform
from leyden.nodes.rules.nodes import Node, RuntimeName
from leyden.nodes.rules.relocations import RelocationStep
from leyden.nodes.rules.versions import OFFERED
from leyden.nodes.runtimes.local import layout
from tests.app.cli.conftest import Typed, add_nodes, on_platform
from tests.nodes.rules.nodes import a_node

DIGEST = "0" * 64
NODE = a_node().id
BOTH = {
    "LEYDEN_RUNTIME": "both",
    "LEYDEN_KUBERNETES_NAMESPACE": "leyden-nodes",
    "LEYDEN_KUBERNETES_STORAGE_CLASS": "local-retained",
    "LEYDEN_KUBERNETES_IMAGES": f"{OFFERED.default}=images/lnd@sha256:{DIGEST}",
    "LEYDEN_COMPANION_IMAGE": f"images/companion@sha256:{DIGEST}",
    "LEYDEN_COMPANION_URL": "https://192.0.2.1:8443",
    "LEYDEN_STANDARD_DISK_GIB": "1",
}


@pytest.fixture
def both(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> Typed:
    for name, value in BOTH.items():
        monkeypatch.setenv(name, value)
    assert typed("migrate").exit_code == 0
    return typed


def refused(typed: Typed, *words: str, to: str = "kubernetes") -> str:
    result = typed("fleet", "move", NODE, "--to", to, *words)
    assert result.exit_code in {1, 4, 5}
    assert result.stdout == ""
    return result.stderr


def test_what_cannot_be_moved_is_told(
    both: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"no node {NODE}" in refused(both)
    add_nodes("Harbour", a_node())
    assert "is already in local" in refused(both, to="local")
    monkeypatch.setenv("LEYDEN_RUNTIME", "local")
    assert 'runtime: must be "both" for a move' in refused(both)
    monkeypatch.setenv("LEYDEN_RUNTIME", "both")
    monkeypatch.setenv("LEYDEN_COMPANION_IMAGE", "")
    assert "companion_image: must be set, since runtime is both" in refused(both)
    assert both("fleet", "move", NODE, "--to", "moon").exit_code == 2


def test_a_node_that_is_larger_than_its_volume_stays(both: Typed) -> None:
    node = a_node()
    add_nodes("Harbour", node)
    folder = layout.folder(layout.root(settings.load(os.environ).home_path), node)
    (folder / "lnd/data").mkdir(parents=True)
    with (folder / "lnd/data/channel.db").open("wb") as file:
        file.truncate(900 << 20)
    answer = refused(both)
    assert "has 0.9 GiB, but its volume has room for 1.0" in answer


def test_a_version_without_an_image_is_refused(both: Typed) -> None:
    older = next(
        each.version for each in OFFERED.releases if each.version != OFFERED.default
    )
    add_nodes("Harbour", a_node(version=older))
    assert f"kubernetes_images: names no image of lnd {older}" in refused(both)


def test_a_move_is_begun_once(both: Typed) -> None:
    add_nodes("Harbour", a_node())
    begun = both("fleet", "move", NODE, "--to", "kubernetes", "--detach")
    assert begun.exit_code == 0, begun.stderr
    assert begun.stdout == f"node {NODE} is being moved to kubernetes\n"

    async def look(platform: Platform) -> tuple[Node, Any]:
        reader = platform.database.reader
        return await reader.nodes.get(NODE), await reader.relocations.find(NODE)

    node, found = on_platform(look)
    assert (node.runtime, node.moves_to) == (RuntimeName.LOCAL, RuntimeName.KUBERNETES)
    assert found.step is RelocationStep.STOPPING
    assert "is already being moved" in refused(both)
