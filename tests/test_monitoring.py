"""The alerts and the dashboard in `deploy/` ask for metrics that there are."""

import importlib
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest
import yaml
from prometheus_client import REGISTRY

from leyden.base.rules.alarms import AlarmKind
from leyden.channels.direct.rules.jit import JitEvent
from leyden.channels.tickets import pool_account
from leyden.nodes.rules.nodes import Cause

DEPLOY = Path(__file__).parents[1] / "deploy"
MONITORING = Path(__file__).parents[1] / "docs" / "operators" / "monitoring.md"
_NAME = re.compile(r"\bleyden_\w+")


def rules() -> list[dict[str, str]]:
    (group,) = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())["groups"]
    found: list[dict[str, str]] = group["rules"]
    return found


def shown() -> Iterator[str]:
    """Every expression of the dashboard."""
    for panel in json.loads((DEPLOY / "grafana/leyden.json").read_text())["panels"]:
        assert panel["title"]
        for target in panel["targets"]:
            yield target["expr"]


@pytest.fixture(scope="module")
def series() -> set[str]:
    """The names of everything that a platform may answer at /metrics."""
    for module in (
        "app.installation",
        "nodes.wiring.local_egress",
        "base.database.commits",
    ):
        importlib.import_module(f"leyden.{module}")  # which makes its metrics
    names = set(pool_account.METRICS)
    for family in REGISTRY.collect():
        names |= {family.name, f"{family.name}_total", f"{family.name}_bucket"}
    return names


def test_alerts_ask_for_metrics_that_there_are(series: set[str]) -> None:
    for rule in rules():
        request = set(_NAME.findall(rule["expr"]))
        assert request <= series, rule["alert"]
        assert request or rule["alert"] == "LeydenDown"


def test_the_dashboard_asks_for_metrics_that_there_are(series: set[str]) -> None:
    for expression in shown():
        request = set(_NAME.findall(expression))
        assert request, expression
        assert request <= series, expression


def test_alerts_name_alarms_that_there_are() -> None:
    pattern = re.compile(r'alarm!?[=~]+"([^"]*)"')
    named = {
        name.replace("[.]", ".")
        for rule in rules()
        for found in pattern.findall(rule["expr"])
        for name in found.split("|")
    }
    assert named
    for name in named:
        assert any(re.fullmatch(name, kind) for kind in AlarmKind), name


@pytest.mark.parametrize(
    ("metric", "values"), [("lnd_ends", Cause), ("jit_events", JitEvent)]
)
def test_every_value_of_a_label_is_documented(
    metric: str, values: type[StrEnum]
) -> None:
    rows = MONITORING.read_text().splitlines()
    (row,) = (each for each in rows if each.startswith(f"| `leyden_{metric}_"))
    assert [each.value for each in values if f"`{each.value}`" not in row] == []


def test_every_alarm_is_documented() -> None:
    text = MONITORING.read_text()
    assert [kind.value for kind in AlarmKind if f"`{kind.value}`" not in text] == []
