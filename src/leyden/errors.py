"""Everything that can go wrong and be told to someone.

LeydenError
├── Refused                 the caller can mend it            4xx
│   ├── Malformed           400  a field is wrong; says which and why
│   ├── Unauthorized        401  no key, or not a live one
│   ├── OverLimit           402  a corporate account has reached its limit
│   ├── Forbidden           403  the key lacks the scope
│   ├── NotFound            404  not there, or not yours: we never say which
│   ├── MethodNotAllowed    405  the path is right, the method is not
│   ├── Conflict            409  not in this state
│   │   ├── NotAllowed           the state machine has no such move
│   │   ├── OverQuota            the organization has as many as it may
│   │   └── Taken                the name, or the value, is in use
│   ├── TooLarge            413
│   ├── NotJson             415
│   └── TooMany             429  comes with Retry-After
├── Away                    503  something we depend on is not there; Retry-After
│   ├── DatabaseAway
│   ├── NodeAway
│   ├── TreasuryAway
│   ├── AuthorityAway            whoever issues certificates
│   └── MarketAway
│       └── SoldOut              the auction is there, our money in it is not
├── NodeRefused             an lnd said no to a call; its own reason, and gRPC's code
├── MarketRefused           the auction said no to a call; its own reason
├── AuthorityRefused        who issues certificates said no; its own reason
├── CannotOpen              a sealed backup stays shut: damaged, or of something else
│   └── WrongPassword            neither backup nor wallet opens with it
├── Stale                   someone else moved it first; the step is tried again
│   └── Lost                     someone else has the task itself: it ends here
├── Violated                a rule that the database itself keeps; a bug if it shows
└── SetupError              the operator can mend it; the message says how

An error's docstring is its default message.
"""


class LeydenError(Exception):
    """Something went wrong."""

    status = 500

    def __init__(self, message: str = "", *, retry_after_s: int | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.retry_after_s = retry_after_s
        super().__init__(self.message)


class Refused(LeydenError):
    """This request cannot be done."""

    status = 400


class Malformed(Refused):
    """The request is malformed."""

    status = 400


class Unauthorized(Refused):
    """Unauthorized"""  # noqa: D400  the contract's peers answer this bare word

    status = 401


class OverLimit(Refused):
    """The account has reached its limit; ask the operator to raise it."""

    status = 402


class Forbidden(Refused):
    """This key lacks the scope for that."""

    status = 403


class NotFound(Refused):
    """not found"""  # noqa: D400  the contract's words

    status = 404


class MethodNotAllowed(Refused):
    """method not allowed"""  # noqa: D400  as terse as its neighbour

    status = 405


class Conflict(Refused):
    """That cannot be done in the present state."""

    status = 409


class NotAllowed(Conflict):
    """There is no such move from the present state."""


class OverQuota(Conflict):
    """quota: the organization has as many as it may; ask the operator for more."""


class Taken(Conflict):
    """That is already in use."""


class TooLarge(Refused):
    """The request is too large."""

    status = 413


class NotJson(Refused):
    """The body must be JSON, sent with Content-Type: application/json."""

    status = 415


class TooMany(Refused):
    """Too many requests; wait a moment and try again."""

    status = 429


class Away(LeydenError):
    """Something this depends on is away; try again in a moment."""

    status = 503

    def __init__(
        self, message: str = "", *, retry_after_s: int | None = None, why: str = ""
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self._why = why or self.message

    def __str__(self) -> str:
        """Say what the operator needs to know; the message is for who asked."""
        return self._why


class DatabaseAway(Away):
    """The database is away or busy; try again in a moment."""


class NodeAway(Away):
    """The node does not answer; try again in a moment."""


class NodeRefused(LeydenError):
    """The node refused the call."""

    def __init__(self, message: str = "", *, code: int = 2) -> None:
        super().__init__(message)
        self.code = code  # gRPC's


class TreasuryAway(Away):
    """The treasury is away, so nothing can be paid; try again in a moment."""


class AuthorityAway(Away):
    """The certificate authority is away; it is asked again."""


class MarketAway(Away):
    """The auction is away; try again in a moment."""


class SoldOut(MarketAway):
    """Channels are sold out at present; try again later."""


class MarketRefused(LeydenError):
    """The auction refused the call."""


class AuthorityRefused(LeydenError):
    """The certificate authority refused."""

    def __init__(
        self, message: str = "", *, kind: str, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.kind = kind


class CannotOpen(LeydenError):
    """This backup cannot be opened."""


class WrongPassword(CannotOpen):
    """This password does not open it."""


class Stale(LeydenError):
    """Someone else moved it first; look again and retry."""


class Lost(Stale):
    """Another process holds this task now."""


class Violated(LeydenError):
    """The database refused to break one of its rules."""


class SetupError(LeydenError):
    """The installation is not right; the message says what to do."""
