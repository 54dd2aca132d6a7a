"""TLS contexts for verifying our own lnds."""

import contextlib
import ssl
from typing import Final

from cryptography import x509

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python has no name for.
_WHENEVER: Final = 0x200000


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
    """Return a context for listening to lnds of this machine.

    It accepts expired certificates: an lnd that was not restarted for a year
    still has one, and its state must be known all the same, also if the clock
    is wrong. Clients check the time; we know which process we have started.
    """
    context = trusting(authority_pem)
    context.verify_flags |= _WHENEVER
    return context


def trusting_chain(shared: ssl.SSLContext, chain_pem: bytes) -> ssl.SSLContext:
    """Return a context that trusts a node's own chain.

    Usually that is the shared context, whose authority issues all nodes'
    certificates. An uploaded chain may be from any authority: it is trusted
    because we gave it to this node ourselves, and no issuer above it is
    checked.
    """
    try:
        last = x509.load_pem_x509_certificates(chain_pem)[-1]
    except ValueError:
        return shared  # none was written yet; the next lnd has one
    for root in shared.get_ca_certs(binary_form=True):
        if x509.load_der_x509_certificate(root).subject == last.issuer:
            return shared
    alone = trusting_whenever(chain_pem.decode())
    alone.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return alone
