"""Whom to believe that an lnd of ours is who it should be."""

import ssl

from cryptography import x509

from leyden.lnd.states import trusting


def trusting_chain(shared: ssl.SSLContext, chain_pem: bytes) -> ssl.SSLContext:
    """Give the context in which a node's own chain is believed.

    That is the one all nodes share, whose authority issues their certificates. One that
    was handed in may be from any authority there is: it is believed because we gave it
    to this node ourselves, and nothing above it is looked at.
    """
    try:
        last = x509.load_pem_x509_certificates(chain_pem)[-1]
    except ValueError:
        return shared  # none was written yet; the next lnd has one
    for root in shared.get_ca_certs(binary_form=True):
        if x509.load_der_x509_certificate(root).subject == last.issuer:
            return shared
    alone = trusting(chain_pem.decode())
    alone.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return alone
