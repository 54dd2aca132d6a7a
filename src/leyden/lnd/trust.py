"""Whom to believe that an lnd of ours is who it should be."""

import ssl
from typing import Final

from leyden.lnd.states import trusting

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python has no name for.
_WHENEVER: Final = 0x200000


def trusting_whenever(authority_pem: str) -> ssl.SSLContext:
    """Give the context in which we listen to lnds of this machine.

    A certificate that has ended is believed: an lnd that nobody restarted for a year
    goes on with it, and what becomes of it has to be seen all the same, on a clock that
    was set wrong too. Clients check the time; we know which process we have started.
    """
    context = trusting(authority_pem)
    context.verify_flags |= _WHENEVER
    return context


def trusting_chain(shared: ssl.SSLContext, chain_pem: bytes) -> ssl.SSLContext:
    """Give the context in which a node's own chain is believed.

    That is the one all nodes share, whose authority issues their certificates. One that
    was handed in may be from any authority there is: it is believed because we gave it
    to this node ourselves, and nothing above it is looked at.
    """
    from cryptography import x509  # noqa: PLC0415  a tenth of a start

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
