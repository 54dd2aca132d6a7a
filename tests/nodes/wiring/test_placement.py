"""The shares that settings give nodes, and who holds nodes to them."""

from functools import partial
from pathlib import Path

import pytest

from leyden.base.settings import Settings
from leyden.errors import SetupError
from leyden.nodes.rules.nodes import NodeType
from leyden.nodes.runtimes.local.cgroups import Cgroups
from leyden.nodes.runtimes.local.placement import MIB, SHARES
from leyden.nodes.wiring import placement


def test_settings_say_how_large_a_share_is(tmp_path: Path) -> None:
    given = Settings(standard_memory_mb=600, standard_cpus=2, professional_weight=900)
    shares = placement.make_placement(given, tmp_path / "nodes").shares
    assert shares[NodeType.STANDARD].memory == 600 * MIB
    assert shares[NodeType.STANDARD].weight == 100
    assert (shares[NodeType.STANDARD].cpus, shares[NodeType.PROFESSIONAL].cpus) == (
        2,
        4,
    )
    assert shares[NodeType.PROFESSIONAL].weight == 900
    assert (
        shares[NodeType.PROFESSIONAL].open_files > shares[NodeType.STANDARD].open_files
    )


def test_the_usual_share_is_the_same_wherever_it_is_written(tmp_path: Path) -> None:
    assert placement.make_placement(Settings(), tmp_path / "nodes").shares == SHARES


def test_where_shares_must_be_held_nothing_starts_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = partial(Cgroups, mount=tmp_path / "no such mount")
    monkeypatch.setattr(placement, "Cgroups", nowhere)
    assert placement.make_cgroups(Settings(home=str(tmp_path))) is None
    given = Settings(home=str(tmp_path), nodes_cgroups="required")
    with pytest.raises(SetupError, match="nodes_cgroups: "):
        placement.make_cgroups(given)


def test_who_wants_none_gets_none(tmp_path: Path) -> None:
    assert (
        placement.make_cgroups(Settings(home=str(tmp_path), nodes_cgroups="off"))
        is None
    )


def test_no_more_nodes_are_placed_than_there_are_addresses() -> None:
    assert placement.slots(Settings(nodes_addresses="127.93.1.0/24")) == 254
    assert placement.slots(Settings()) == 65_000
