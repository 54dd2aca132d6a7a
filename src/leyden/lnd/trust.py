"""TLS contexts for verifying our own lnds."""

import contextlib
import ssl
from typing import Final

from cryptography import x509

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python has no name for.
_NO_CHECK_TIME: Final = 0x200000


def trusting(authority_pem: str) -> ssl.SSLContext:
    """Return a context that trusts only this authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority_pem)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET
    with contextlib.suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context


def trusting_whenever(authority_pem: str) -> ssl.SSLContext:
    """Return a context for connecting to lnds of this machine; it ignores expiry.

    An lnd that was not restarted for a year has an expired certificate, but its
    state must still be known, also if the clock is wrong. Clients do check the
    time; here we know which process we started.
    """
    context = trusting(authority_pem)
    context.verify_flags |= _NO_CHECK_TIME
    return context


def issuer_of(chain_pem: bytes) -> x509.Name | None:
    """Return who issued the last of a chain; None if that can't be read.

    An earlier version accepted chains from owners whose names can't be.
    """
    try:
        return x509.load_pem_x509_certificates(chain_pem)[-1].issuer
    except (ValueError, TypeError):
        return None


def trusting_chain(shared: ssl.SSLContext, chain_pem: bytes) -> ssl.SSLContext:
    """Return a context that trusts a node's own chain.

    Usually that is the shared context, whose authority issues the nodes'
    certificates. An uploaded chain may be from any authority: it is trusted
    because we passed it to this node ourselves, and its issuer is not checked.
    """
    if (issuer := issuer_of(chain_pem)) is None:
        return shared  # not written yet
    for root in shared.get_ca_certs(binary_form=True):
        if x509.load_der_x509_certificate(root).subject == issuer:
            return shared
    alone = trusting_whenever(chain_pem.decode())
    alone.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return alone
