from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leyden.nodes.certificates.authority import LEAF_LIFE, open_or_create
from leyden.nodes.certificates.expiry import (
    CertificateState,
    ExpiryAlarm,
    Validity,
    alarms,
    renewal_due,
    validity,
)

BORN = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = Validity(BORN, BORN + timedelta(days=360))


@pytest.mark.parametrize(
    ("day", "standing"),
    [
        (0, CertificateState.FRESH),
        (179.9, CertificateState.FRESH),
        (180, CertificateState.RENEWABLE),
        (329.9, CertificateState.RENEWABLE),
        (330, CertificateState.EXPIRING),
        (359.9, CertificateState.EXPIRING),
        (360, CertificateState.EXPIRED),
        (4_000, CertificateState.EXPIRED),
    ],
)
def test_a_certificate_ages(day: float, standing: CertificateState) -> None:
    now = BORN + timedelta(days=day)
    assert YEAR.state_at(now) is standing
    assert renewal_due(YEAR, now) is (standing is not CertificateState.FRESH)


def test_alarms_are_of_those_that_end_soon_the_first_first() -> None:
    later = BORN + timedelta(days=370)
    fresh = BORN + timedelta(days=660)
    found = {"lighthouse": later, "harbour": YEAR.until, "pier": fresh}
    assert alarms(found, BORN + timedelta(days=362)) == (
        ExpiryAlarm("harbour", CertificateState.EXPIRED, YEAR.until),
        ExpiryAlarm("lighthouse", CertificateState.EXPIRING, later),
    )
    assert alarms(found, BORN + timedelta(days=100)) == ()


def test_a_chain_is_valid_as_long_as_its_weakest_link(
    tmp_path: Path, now: datetime
) -> None:
    authority = open_or_create(tmp_path / "authority", now=now)
    chain = authority.issue("harbour.nodes.test", now=now).chain_pem
    assert validity(chain).until == now + LEAF_LIFE
    late = authority.intermediate.not_valid_after_utc - timedelta(days=7)
    ending = authority.issue("harbour.nodes.test", now=late).chain_pem
    assert validity(ending).until == authority.intermediate.not_valid_after_utc
