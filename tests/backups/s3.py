"""A stand-in for an S3-compatible store: as much of it as restic asks for."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from aiohttp import web
from aiohttp.test_utils import TestServer

_XML = "application/xml"
_DATE = "2026-03-01T12:00:00.000Z"


@dataclass
class Bucket:
    """One bucket, for whoever shows this key."""

    key_id: str
    objects: dict[str, bytes] = field(default_factory=dict)
    refused: int = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if f"Credential={self.key_id}/" not in request.headers.get("Authorization", ""):
            self.refused += 1
            return _error("InvalidAccessKeyId", 403)
        key = request.match_info["key"]
        if "location" in request.query:
            return _xml("<LocationConstraint>us-east-1</LocationConstraint>")
        if request.method == "GET" and not key:
            return self._listed(request)
        return await self._done(request, key)

    async def _done(self, request: web.Request, key: str) -> web.Response:
        if request.method == "PUT":
            self.objects[key] = _unchunked(request, await request.read())
            return web.Response(headers={"ETag": _tag(self.objects[key])})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return web.Response(status=204)
        if key not in self.objects:
            return _error("NoSuchKey", 404)
        return _part(request, self.objects[key])

    def _listed(self, request: web.Request) -> web.Response:
        prefix = request.query.get("prefix", "")
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(content)}</Size>"
            f"<LastModified>{_DATE}</LastModified><ETag>{_tag(content)}</ETag></Contents>"
            for key, content in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        return _xml(
            f"<ListBucketResult><Prefix>{escape(prefix)}</Prefix>{found}"
            "<IsTruncated>false</IsTruncated></ListBucketResult>"
        )


@asynccontextmanager
async def serving(bucket: Bucket) -> AsyncIterator[str]:
    """Serve the bucket; give the place of a store in it."""
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/bucket{_:/?}", bucket_of(bucket))
    app.router.add_route("*", "/bucket/{key:.*}", bucket.answer)
    async with TestServer(app) as server:
        yield f"s3:http://127.0.0.1:{server.port}/bucket/leyden"


def bucket_of(bucket: Bucket) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        request.match_info["key"] = ""
        return await bucket.answer(request)

    return answer


def _unchunked(request: web.Request, content: bytes) -> bytes:
    """Take the signatures out of a body that is signed piece by piece."""
    if not request.headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        return content
    found = b""
    while content:
        head, _, content = content.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if size == 0:
            break
        found, content = found + content[:size], content[size + 2 :]
    return found


def _part(request: web.Request, content: bytes) -> web.Response:
    headers = {"ETag": _tag(content), "Last-Modified": "Sun, 01 Mar 2026 12:00:00 GMT"}
    wanted = request.http_range
    if wanted.start is None:
        return web.Response(body=content, headers=headers)
    part = content[wanted]
    first = wanted.start if wanted.start >= 0 else len(content) - len(part)
    last = first + len(part) - 1
    headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
    return web.Response(status=206, body=part, headers=headers)


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def _xml(text: str) -> web.Response:
    return web.Response(text=text, content_type=_XML)


def _error(code: str, status: int) -> web.Response:
    text = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
    return web.Response(text=text, status=status, content_type=_XML)
