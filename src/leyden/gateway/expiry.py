"""When certificates end, and what has to be done before; pure.

lnd reads its certificate when it starts and at no other time, and a start locks the
wallet. So a node's is renewed at any restart after half of its life, which is usually
long before; whoever is never restarted raises an alarm.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

from leyden.values import Struct

NOTICE: Final = timedelta(days=30)


class Standing(StrEnum):
    """How a certificate stands."""

    FRESH = auto()
    RENEWABLE = auto()  # past half of its life: the next restart renews it
    EXPIRING = auto()  # somebody has to restart it now
    EXPIRED = auto()  # clients refuse it


class Validity(Struct, frozen=True):
    """From when until when something is valid."""

    since: datetime
    until: datetime

    def standing(self, now: datetime, *, notice: timedelta = NOTICE) -> Standing:
        """Tell how it stands."""
        if now >= self.until:
            return Standing.EXPIRED
        if now >= self.until - notice:
            return Standing.EXPIRING
        if now >= self.since + (self.until - self.since) / 2:
            return Standing.RENEWABLE
        return Standing.FRESH


class Alarm(Struct, frozen=True):
    """Something that ends too soon."""

    what: str
    standing: Standing
    until: datetime


def validity(chain_pem: bytes) -> Validity:
    """Read how long a chain is valid: as long as each certificate in it."""
    from cryptography import x509  # noqa: PLC0415  a tenth of a start

    chain = x509.load_pem_x509_certificates(chain_pem)
    until = min(certificate.not_valid_after_utc for certificate in chain)
    return Validity(chain[0].not_valid_before_utc, until)


def renewal_due(validity: Validity, now: datetime) -> bool:
    """Tell whether a restart at this time should come with a new certificate."""
    return validity.standing(now) is not Standing.FRESH


def renewal_at(validity: Validity) -> datetime:
    """Say when an authority that issues for months is asked for the next one."""
    return validity.since + (validity.until - validity.since) * 2 / 3


def alarms(
    endings: Mapping[str, datetime], now: datetime, *, notice: timedelta = NOTICE
) -> tuple[Alarm, ...]:
    """Give those that have ended or are about to, the most urgent first."""
    found = [
        Alarm(what, Standing.EXPIRED if now >= until else Standing.EXPIRING, until)
        for what, until in endings.items()
        if now >= until - notice
    ]
    return tuple(sorted(found, key=lambda alarm: (alarm.until, alarm.what)))
