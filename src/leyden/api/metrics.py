"""What the operator's monitoring reads: counters in the Prometheus text format."""

from leyden import figures
from leyden.api.reading import Receive, Scope, Send
from leyden.api.whole import NO_STORE


async def metrics(scope: Scope, _: Receive, send: Send) -> None:
    """Answer GET /metrics; on a listener of its own that only loopback reaches."""
    found = scope["path"] == "/metrics" and scope["method"] in {"GET", "HEAD"}
    body = figures.text() if found else b'{"message":"not found"}'
    kind = figures.TYPE if found else b"application/json"
    await send(
        {
            "type": "http.response.start",
            "status": 200 if found else 404,
            "headers": [
                (b"content-type", kind),
                (b"content-length", b"%d" % len(body)),
                NO_STORE,
            ],
        }
    )
    head = scope["method"] == "HEAD"
    await send({"type": "http.response.body", "body": b"" if head else body})
