"""The least that can be called a web application: uvicorn, and fixed bytes."""

import sys
from typing import Any

import uvicorn


async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001
    """Answer."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


if __name__ == "__main__":
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        http="httptools",
        loop="uvloop",
        access_log=False,
        log_level="warning",
        lifespan="off",
    )
