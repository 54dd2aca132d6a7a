"""Objects in an S3-compatible store: four requests, with Amazon's signature."""

import hashlib
import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

import aiohttp
from yarl import URL

from leyden.errors import SetupError
from leyden.values import Struct, hiding

_TIMEOUT: Final = aiohttp.ClientTimeout(total=120, sock_connect=10, sock_read=30)
_GONE, _REFUSED = 404, 300
_SAID: Final = 200


class S3(Struct, frozen=True, kw_only=True):
    """A bucket, and the prefix of all names in it."""

    url: str
    prefix: str
    key_id: str
    secret: str

    __repr__ = hiding("secret")

    async def put(self, name: str, content: bytes) -> None:
        """Store an object."""
        await self._call("PUT", self._key(name), content=content)

    async def get(self, name: str) -> bytes | None:
        """Return an object; None if there is none."""
        return await self._call("GET", self._key(name))

    async def delete(self, name: str) -> None:
        """Delete an object."""
        await self._call("DELETE", self._key(name))

    async def names(self, prefix: str) -> list[str]:
        """List the names of objects, a page after the other."""
        found: list[str] = []
        query = {"list-type": "2", "prefix": self._key(prefix)}
        while True:
            listing = ET.fromstring(await self._call("GET", "", query=query) or b"")  # noqa: S314
            space = listing.tag.removesuffix("ListBucketResult")
            found += [each.text or "" for each in listing.iter(f"{space}Key")]
            more = listing.findtext(f"{space}NextContinuationToken")
            if not more:
                return [name.removeprefix(self._key("")) for name in found]
            query["continuation-token"] = more

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}"

    async def _call(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        content: bytes = b"",
    ) -> bytes | None:
        words = "&".join(
            f"{quote(name, safe='')}={quote(value, safe='')}"
            for name, value in sorted((query or {}).items())
        )
        url = f"{self.url}/{quote(key)}".rstrip("/")
        headers = self.signed(method, url, words, content, now=datetime.now(UTC))
        target = URL(f"{url}?{words}" if words else url, encoded=True)
        try:
            async with (
                aiohttp.ClientSession(timeout=_TIMEOUT) as session,
                session.request(
                    method, target, data=content or None, headers=headers
                ) as response,
            ):
                body = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            why = str(error) or "no answer in time"
            raise SetupError(f"backup_store: {self.url}: {why}") from None
        if response.status == _GONE and b"NoSuchBucket" not in body:
            return None
        if response.status >= _REFUSED:
            said = body[:_SAID].decode(errors="replace")
            raise SetupError(f"backup_store: {self.url}: {response.status} {said}")
        return body

    def signed(
        self, method: str, url: str, query: str, content: bytes, *, now: datetime
    ) -> dict[str, str]:
        """Return the headers of a request, with its signature (version 4)."""
        if not self.key_id:
            return {}
        parts = urlsplit(url)
        digest = hashlib.sha256(content).hexdigest()
        signed = {
            "host": parts.netloc,
            "x-amz-content-sha256": digest,
            "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}",
        }
        lines = "".join(f"{name}:{value}\n" for name, value in signed.items())
        names = ";".join(signed)
        request = f"{method}\n{parts.path}\n{query}\n{lines}\n{names}\n{digest}"
        region = os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        scope = f"{now:%Y%m%d}/{region}/s3/aws4_request"
        what = "\n".join(
            (
                *("AWS4-HMAC-SHA256", signed["x-amz-date"], scope),
                hashlib.sha256(request.encode()).hexdigest(),
            )
        )
        key = f"AWS4{self.secret}".encode()
        for part in (*scope.split("/"), what):
            key = hmac.digest(key, part.encode(), "sha256")
        return {
            **{name: value for name, value in signed.items() if name != "host"},
            "Authorization": (
                f"AWS4-HMAC-SHA256 Credential={self.key_id}/{scope},"
                f"SignedHeaders={names},Signature={key.hex()}"
            ),
        }
