"""Expiry of certificates, and when to renew them; pure functions.

lnd reads its certificate only when it starts, and a restart locks the
wallet. So a node's certificate is renewed at any restart after half of its
life, which is usually long before it expires; a node that is never
restarted raises an alarm.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum, auto
from typing import Final

from cryptography import x509

from leyden.values import Struct

NOTICE: Final = timedelta(days=30)


class CertificateState(StrEnum):
    """The expiry state of a certificate."""

    FRESH = auto()
    RENEWABLE = auto()  # past half of its life: the next restart renews it
    EXPIRING = auto()  # somebody has to restart it now
    EXPIRED = auto()  # clients refuse it


class Validity(Struct, frozen=True):
    """A period of validity."""

    since: datetime
    until: datetime

    def state_at(
        self, now: datetime, *, notice: timedelta = NOTICE
    ) -> CertificateState:
        """Return the certificate's state at a time."""
        if now >= self.until:
            return CertificateState.EXPIRED
        if now >= self.until - notice:
            return CertificateState.EXPIRING
        if now >= self.since + (self.until - self.since) / 2:
            return CertificateState.RENEWABLE
        return CertificateState.FRESH


class ExpiryAlarm(Struct, frozen=True):
    """A certificate that has expired or soon will."""

    what: str
    state: CertificateState
    until: datetime


def validity(chain_pem: bytes) -> Validity:
    """Return the validity of a chain: the time when all of it is valid."""
    chain = x509.load_pem_x509_certificates(chain_pem)
    until = min(certificate.not_valid_after_utc for certificate in chain)
    return Validity(chain[0].not_valid_before_utc, until)


def renewal_due(validity: Validity, now: datetime) -> bool:
    """Return whether a restart at this time should come with a new certificate."""
    return validity.state_at(now) is not CertificateState.FRESH


def renewal_at(validity: Validity) -> datetime:
    """Return when an authority that issues for months is asked for the next one."""
    return validity.since + (validity.until - validity.since) * 2 / 3


def alarms(
    endings: Mapping[str, datetime], now: datetime, *, notice: timedelta = NOTICE
) -> tuple[ExpiryAlarm, ...]:
    """Return those that have ended or are about to, the most urgent first."""
    found = [
        ExpiryAlarm(
            what,
            CertificateState.EXPIRED if now >= until else CertificateState.EXPIRING,
            until,
        )
        for what, until in endings.items()
        if now >= until - notice
    ]
    return tuple(sorted(found, key=lambda alarm: (alarm.until, alarm.what)))
