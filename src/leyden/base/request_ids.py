"""The id of a request: in its response, in log lines, and on the error page.

Ids that callers send are ignored, so that nobody can make one that is not unique.
"""

import secrets
from contextvars import ContextVar

# With the task that answers it: another one that it starts may outlive it.
_CURRENT: ContextVar[tuple[object, str]] = ContextVar("request_id", default=(None, ""))


def new() -> str:
    """Return a new id."""
    return f"req_{secrets.token_hex(12)}"


def begin(request_id: str) -> None:
    """Note that this task answers this request."""
    _CURRENT.set((_task(), request_id))


def current() -> str:
    """Return the id of the request that this task answers, or ""."""
    task, request_id = _CURRENT.get()
    return request_id if task is not None and task is _task() else ""


def _task() -> object:
    """Return the task that runs; None in a thread of its own."""
    import asyncio  # noqa: PLC0415  commands that log without it start faster

    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
