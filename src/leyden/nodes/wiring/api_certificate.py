"""The API over TLS with a certificate that the platform issues and renews itself.

That is one from an authority of others (`acme_api_name`), or of its own (`api_tls`).
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from leyden.base.background import background
from leyden.base.http.server import bare_tls
from leyden.base.platform import Platform
from leyden.base.settings import own_names
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.certificates.expiry import renewal_due, validity
from leyden.nodes.lnd.home import Tls
from leyden.nodes.wiring.authorities import folder_of
from leyden.nodes.wiring.certificates import api_tls, load_tls

_LOOK_EVERY_S: Final = 86_400.0

log = logging.getLogger(__name__)


@asynccontextmanager
async def served(platform: Platform) -> AsyncIterator[ssl.SSLContext | None]:
    """Serve the API with our own certificate, if the settings ask for one."""
    if platform.issuance is not None and platform.settings.acme_api_name:
        async with api_tls(platform) as context:
            yield context
    elif platform.settings.api_tls:
        names = own_names.api_names(platform.settings)
        async with of_our_authority(platform, names) as context:
            yield context
    else:
        yield None


@asynccontextmanager
async def of_our_authority(
    platform: Platform, names: Sequence[str]
) -> AsyncIterator[ssl.SSLContext]:
    """Yield a TLS context for these names; renewals apply to new connections."""
    context = bare_tls()
    tls = _issued(platform, names)
    load_tls(context, tls)
    renew = partial(_renew, platform, context, names, tls)
    async with background({"certificate": renew}):
        yield context


async def _renew(
    platform: Platform, context: ssl.SSLContext, names: Sequence[str], tls: Tls
) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        if renewal_due(validity(tls.chain_pem), platform.clock()):
            tls = _issued(platform, names)
            load_tls(context, tls)
            log.info("%s has a new certificate", names[0])


def _issued(platform: Platform, names: Sequence[str]) -> Tls:
    """Issue a certificate for these names; its key is never written to a disk."""
    authority = Authority(folder_of(platform.settings))
    name, *also = names
    return authority.issue(name, now=platform.clock(), also=also)
