"""Getting the root of a platform on another machine.

TLS to it proves nothing: its certificate may be of the very root that is asked for.
What proves that the right root came is its fingerprint, told in another way. TLS is
asked for all the same: what goes in clear can be changed by everybody on the way.
"""

import http.client
import ipaddress
import ssl
from typing import Final
from urllib.parse import SplitResult, urlsplit

from leyden.errors import Away, SetupError

PATH: Final = "/app/authority.pem"
_LONGEST: Final = 64 * 1024
_PATIENCE_S: Final = 10.0
_OK: Final = 200


def fetch(url: str) -> bytes:
    """Return what a platform gives as its root, unproven."""
    parts = _checked(url)
    connection = _connection(parts)
    try:
        connection.request("GET", PATH, headers={"Accept": "application/x-pem-file"})
        with connection.getresponse() as answer:
            content = answer.read(_LONGEST + 1)
    except (OSError, http.client.HTTPException) as error:
        raise Away(f"{url} does not respond: {error}") from None
    finally:
        connection.close()
    if answer.status != _OK or len(content) > _LONGEST:
        raise SetupError(
            f"{url} has no {PATH} ({answer.status}); check that this is the URL of a "
            "platform"
        )
    return content


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        _ = parts.port
    except ValueError:
        raise SetupError(f"--from: {url} is not a URL") from None
    if parts.scheme not in {"http", "https"} or not host or parts.username:
        raise SetupError(
            "--from: must be the platform's URL, https://HOST or with :PORT"
        )
    if parts.scheme == "http" and not _is_loopback(host):
        raise SetupError(
            f"--from: http to {host} is not secure; use https, or copy the file "
            "authority.pem to this machine and run `leyden trust --file`"
        )
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _connection(parts: SplitResult) -> http.client.HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=_PATIENCE_S)
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE  # the fingerprint proves it, see above
    return http.client.HTTPSConnection(
        host, parts.port, timeout=_PATIENCE_S, context=tls
    )
