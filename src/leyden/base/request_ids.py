"""The id of a request: in its response, in log lines, and on the error page.

Ids that callers send are ignored, so that nobody can make one that is not unique.
"""

import asyncio
import secrets
from contextvars import ContextVar
from typing import Any

# With the task that answers it: another one that it starts may outlive it.
_CURRENT: ContextVar[tuple[asyncio.Task[Any] | None, str]] = ContextVar(
    "request_id", default=(None, "")
)


def new() -> str:
    """Return a new id."""
    return f"req_{secrets.token_hex(12)}"


def begin(request_id: str) -> None:
    """Note that this task answers this request."""
    _CURRENT.set((asyncio.current_task(), request_id))


def current() -> str:
    """Return the id of the request that this task answers, or ""."""
    task, request_id = _CURRENT.get()
    if task is None:
        return ""
    try:
        return request_id if asyncio.current_task() is task else ""
    except RuntimeError:  # in a thread of its own
        return ""
