"""What the settings make of the dispatcher."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from leyden.base.database.database import Database
from leyden.base.database.secrets import Sealer
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import Malformed, SetupError
from leyden.events.dispatchers import Dispatcher
from leyden.events.rules.deliveries import PATIENCE, RETRIES
from leyden.events.rules.webhook_urls import USUAL, check
from leyden.events.wiring.dispatcher import allowed, make_dispatcher
from tests.authority import Authority
from tests.conftest import NOW


@pytest.fixture
def dispatcher(sqlite_db: Database, sealer: Sealer) -> Any:
    def make(**given: Any) -> Dispatcher:
        return make_dispatcher(
            Platform(
                settings=Settings(**given),
                database=sqlite_db,
                sealer=sealer,
                clock=lambda: NOW,
            )
        )

    return make


async def test_the_defaults_are_what_was_decided(dispatcher: Any) -> None:
    rules = dispatcher().rules
    assert (rules.retries, rules.patience) == (RETRIES, PATIENCE)
    assert rules.old_secret_signs == timedelta(days=1)
    assert rules.keeps_deliveries == timedelta(days=30)
    assert allowed(Settings()) == USUAL


async def test_every_wait_can_be_a_second(dispatcher: Any) -> None:
    rules = dispatcher(
        webhook_retries_s="1,1, 2",
        webhook_patience_s=1,
        webhook_old_secret_s=1,
        webhook_deadline_s=1,
    ).rules
    assert [wait.seconds for wait in rules.retries] == [1, 1, 2]
    assert rules.patience == rules.old_secret_signs == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"webhook_networks": "10.0.0.1/8"}, "webhook_networks: 10.0.0.1/8 has host"),
        ({"webhook_forbidden_networks": "x"}, "webhook_forbidden_networks: 'x'"),
        ({"webhook_retries_s": "5, soon"}, "webhook_retries_s: must be whole"),
        ({"webhook_retries_s": "0"}, "webhook_retries_s: must be whole"),
        ({"webhook_ports": "443-80"}, "webhook_ports: 443-80"),
        ({"webhook_ports": "70000"}, "webhook_ports: 70000"),
        ({"webhook_ports": "https"}, "webhook_ports: https"),
        ({"webhook_authorities": "/no/such.pem"}, "webhook_authorities: /no/such"),
    ],
)
async def test_what_makes_no_sense_is_refused_by_its_name(
    dispatcher: Any, given: dict[str, str], why: str
) -> None:
    with pytest.raises(SetupError, match=why):
        dispatcher(**given)


def test_ports_and_http_are_settings() -> None:
    usual, private = Settings(), Settings(webhooks_over_http=True)
    chosen = Settings(webhook_ports="443, 9000-9001")
    check("https://hooks.example.org:8443/", allowed(usual))
    check("http://127.0.0.1:31337/", allowed(private))
    check("https://hooks.example.org:9001/", allowed(chosen))
    for url, given in (
        ("https://hooks.example.org:31337/", usual),
        ("http://hooks.example.org/", usual),
        ("https://hooks.example.org:8443/", chosen),
    ):
        with pytest.raises(Malformed):
            check(url, allowed(given))


async def test_an_authority_of_ones_own_can_be_trusted(
    dispatcher: Any, tmp_path: Path
) -> None:
    path = tmp_path / "ours.pem"
    path.write_text(Authority().pem)
    dispatcher(webhook_authorities=str(path))
