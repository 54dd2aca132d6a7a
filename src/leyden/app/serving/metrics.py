"""What the operator's monitoring reads: metrics in the Prometheus text format."""

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    disable_created_metrics,
    generate_latest,
)

from leyden.base.http.reading import Scope, Send
from leyden.base.http.request_body import Receive
from leyden.base.http.responses import answer

# A series for each series, which tells when it began: nobody has asked for them.
disable_created_metrics()  # type: ignore[no-untyped-call]


async def metrics(scope: Scope, _: Receive, send: Send) -> None:
    """Serve GET /metrics, on a listener that only loopback reaches."""
    found = scope["path"] == "/metrics" and scope["method"] in {"GET", "HEAD"}
    body = generate_latest() if found else b'{"message":"not found"}'
    kind = CONTENT_TYPE_PLAIN_0_0_4.encode() if found else b"application/json"
    status = 200 if found else 404
    await answer(scope, send, status, [(b"content-type", kind)], body)
