"""Certificates from an ACME issuer: the issuer, and the API's own."""

import asyncio
import logging
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from leyden.base.background import background
from leyden.base.http.server import bare_tls, bind
from leyden.base.platform import Platform
from leyden.base.settings import Settings
from leyden.errors import Away, SetupError
from leyden.nodes import issuance
from leyden.nodes.api.challenges import Challenges
from leyden.nodes.certificates import jws
from leyden.nodes.certificates.acme import AcmeAccount, AcmeIssuer
from leyden.nodes.certificates.authority import Authority
from leyden.nodes.certificates.keys import load_key
from leyden.nodes.issuance import Issuance
from leyden.nodes.lnd.home import Tls

_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]{22,512}")
_LOOK_EVERY_S: Final = 5.0

log = logging.getLogger(__name__)


def bind_challenges(settings: Settings) -> list[socket.socket]:
    """Bind the port for ACME challenges, if one is configured."""
    if not settings.acme_directory or not settings.acme_port:
        return []
    return bind(settings.gateway_host, settings.acme_port, setting="acme_port")


@asynccontextmanager
async def issuing(platform: Platform) -> AsyncIterator[Issuance | None]:
    """Return the service that obtains certificates, if configured."""
    settings = platform.settings
    if not settings.acme_directory:
        yield None
        return

    secret = settings.acme_binding_secret
    if secret and not _BASE64URL.fullmatch(secret):
        raise SetupError("acme_binding_secret: must be base64url")
    account = AcmeAccount(
        key=load_key(await _account_key(platform)),
        email=settings.acme_email,
        binding_id=settings.acme_binding_id,
        binding_secret=secret,
    )
    issuer = AcmeIssuer(
        settings.acme_directory, account, tls=_trusting(settings.acme_authorities)
    )
    try:
        yield Issuance(
            database=platform.database,
            sealer=platform.sealer,
            clock=platform.clock,
            issuer=issuer,
            own_name=settings.acme_api_name,
            fleet=platform.fleet,
        )
    finally:
        await issuer.close()


async def challenges(platform: Platform) -> Challenges | None:
    """Return the application that answers ACME challenges, if configured."""
    if platform.issuance is None:
        return None

    key = load_key(await _account_key(platform))
    return Challenges(jws.thumbprint(key))


@asynccontextmanager
async def api_tls(platform: Platform) -> AsyncIterator[ssl.SSLContext]:
    """Yield the API's TLS context, following its newest certificate.

    The API serves a certificate of our own authority until one is issued.
    New connections use a renewed certificate; open ones are not closed.
    """
    name = platform.settings.acme_api_name
    authority = Authority(platform.settings.home_path / "authority")
    served = await _issued(platform, name)
    context = bare_tls()
    load_tls(context, served or authority.issue(name, now=platform.clock()))
    following = partial(_follow, platform, name, context, served)
    async with background({"the API's certificate": following}):
        yield context


async def _follow(
    platform: Platform, name: str, context: ssl.SSLContext, served: Tls | None
) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY_S)
        try:
            newest = await _issued(platform, name)
        except Away as error:
            log.info(
                "could not check the API's certificate", extra={"why": error.message}
            )
            continue
        if newest is not None and newest != served:
            load_tls(context, newest)
            served = newest
            log.info("the API has a new certificate", extra={"host": name})


async def _issued(platform: Platform, name: str) -> Tls | None:
    return await issuance.newest(
        platform.sealer, platform.database.reader, name, now=platform.clock()
    )


def load_tls(context: ssl.SSLContext, tls: Tls) -> None:
    """Load this certificate into the context, without writing its key to a disk."""
    file = os.memfd_create("certificate")
    try:
        os.write(file, tls.chain_pem + tls.key_pem)
        context.load_cert_chain(f"/proc/self/fd/{file}")
    finally:
        os.close(file)


async def _account_key(platform: Platform) -> bytes:
    return await issuance.account_key(
        platform.database, platform.sealer, platform.settings.acme_directory
    )


def _trusting(authorities: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authorities:
        try:
            context.load_verify_locations(authorities)
        except OSError as error:  # SSLErrors are OSErrors
            raise SetupError(f"acme_authorities: {authorities}: {error}") from None
    return context
