"""Each app that is named has its steps, and a macaroon no wider than it needs."""

import gzip
from importlib.resources import files
from pathlib import Path

import pytest

from leyden.client.macaroons import PRESETS
from leyden.nodes.pages.recipes import RECIPES, Recipe
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.test_nodes import made


async def test_every_app_is_offered_with_its_steps(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    shown = (await alice.get(f"{node}/wallet/bakery")).text
    for recipe in RECIPES:
        assert f'data-app="{recipe.slug}" data-preset="{recipe.preset}"' in shown
        steps = shown.partition(f'data-recipe="{recipe.slug}"')[2].partition("</div>")[
            0
        ]
        assert "<ol>" in steps
    assert f"https://{stored.api_endpoint}:8080/v1/getinfo" in shown
    assert f"--rpcserver={stored.api_endpoint}:10009" in shown


async def test_a_program_that_does_not_resolve_localhost_names_is_told_the_line(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    node = await made(alice, fleet_harness)
    (stored,) = await fleet_harness.fleet.database.reader.nodes.all_()
    assert stored.api_endpoint.endswith(".localhost")
    shown = (await alice.get(f"{node}/wallet/bakery")).text
    for slug in (
        *("lncli", "python", "javascript", "go"),
        *("lnbits", "thunderhub", "rtl", "albyhub"),
    ):
        line = f'<code id="hosts-{slug}">127.0.0.1 {stored.api_endpoint}</code>'
        steps = shown.partition(f'data-recipe="{slug}"')[2].partition("</ol>")[0]
        assert line in steps
    assert 'id="hosts-curl"' not in shown, "curl resolves it by itself"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: each.slug)
def test_no_app_is_handed_the_keys_to_bake_more(recipe: Recipe) -> None:
    may = PRESETS[recipe.preset]
    assert not {each for each in may if each.startswith("macaroon:generate")}


async def test_the_heaviest_page_is_light(
    alice: Visitor, fleet_harness: FleetHarness
) -> None:
    """Every script and style goes with it, but for what reads QR codes on demand."""
    node = await made(alice, fleet_harness)
    page = (await alice.get(f"{node}/wallet/bakery")).text
    static = files("leyden.base.pages") / "static"
    scripts = [*Path(str(static)).rglob("*.js"), *Path(str(static)).rglob("*.css")]
    weight = sum(
        len(gzip.compress(each.read_bytes()))
        for each in scripts
        if each.parent.name != "qr"  # loaded when something is scanned, weighed there
    )
    assert len(page.encode()) + weight < 150 * 1024
