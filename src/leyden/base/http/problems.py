"""Errors as responses: a sentence for people, and a code for programs."""

import re
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.base.http.responses import Headers
from leyden.errors import (
    Expired,
    LeydenError,
    Malformed,
    NotFound,
    Taken,
    TooMany,
    Unauthorized,
)

# What is said of an error that is ours to mend, and not the caller's to see.
INTERNAL: Final = "internal error; it has been logged"
_OURS_TO_MEND: Final = 500
# The errors whose message begins with the field that it is about.
_NAMING: Final = (Malformed, Taken, Expired)
_FIELD: Final = re.compile(r"([A-Za-z][\w.\[\]-]*): ")


class Problem(msgspec.Struct):
    """An error: one sentence, and what programs decide by."""

    message: Annotated[
        str, Meta(description="What is wrong, and with which field. For people.")
    ]
    code: Annotated[
        str | UnsetType,
        Meta(description="The kind of error; see Errors. A 404 has only `message`."),
    ] = UNSET
    field: Annotated[
        str | UnsetType,
        Meta(description="The field or parameter that is wrong, if it is one."),
    ] = UNSET
    doc_url: Annotated[
        str | UnsetType, Meta(description="Where the kind of error is explained.")
    ] = UNSET


def body(error: LeydenError, *, origin: str = "") -> bytes:
    """Return an error as JSON.

    The contract fixes the body of a 404, which has a message only. `origin` is where
    the guides are served.
    """
    message = INTERNAL if error.status == _OURS_TO_MEND else error.message
    if isinstance(error, NotFound):
        return msgspec.json.encode(Problem(message))
    code = error.error_code
    field = _FIELD.match(message) if isinstance(error, _NAMING) else None
    return msgspec.json.encode(
        Problem(
            message=message,
            code=code,
            field=field[1] if field else UNSET,
            doc_url=f"{origin}/docs/errors#{code}",
        )
    )


def headers(error: LeydenError) -> Headers:
    """Return the headers of an error: its code, and when and how to try again."""
    found = [
        (b"content-type", b"application/json"),
        (b"error-code", error.error_code.encode()),
    ]
    if error.retry_after_s is not None:
        found.append((b"retry-after", b"%d" % error.retry_after_s))
    if isinstance(error, TooMany):
        # Of the limit that was passed, which is not always that of all requests.
        if error.limit:
            found.append((b"ratelimit-limit", b"%d" % error.limit))
        found.append((b"ratelimit-remaining", b"0"))
        found.append((b"ratelimit-reset", b"%d" % (error.retry_after_s or 1)))
    if isinstance(error, Unauthorized):
        found.append((b"www-authenticate", b"Bearer"))
    return found
