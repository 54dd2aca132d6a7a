"""All errors that are reported to somebody: a caller, the operator or a command's user.

LeydenError             500
├── Refused             400  the caller can fix it
│   ├── Malformed           400  a field is invalid; names the field and the reason
│   │   └── KeyReused            an Idempotency-Key came with another request
│   ├── Unauthorized        401  no valid API key
│   ├── OverLimit           402  a corporate account has reached its limit
│   ├── Forbidden           403  the caller's role or key may not do this
│   │   └── MissingScope         the key lacks the scope
│   ├── NotFound            404  missing, or another organization's: we never say which
│   ├── MethodNotAllowed    405  the path exists, but not with this method
│   ├── Conflict            409  not possible in the current state
│   │   ├── NotAllowed           the state machine has no such transition
│   │   ├── OverQuota            the organization has reached a quota
│   │   ├── Taken                the name or value is in use
│   │   └── InProgress           the first request with this key still runs
│   ├── Expired             410  it was deleted
│   ├── TooLarge            413
│   ├── NotJson             415
│   └── TooMany             429  with Retry-After
├── Away                    503  a dependency does not respond; with Retry-After
│   ├── DatabaseAway
│   ├── NodeAway
│   ├── TreasuryAway
│   ├── AuthorityAway            the authority that issues certificates
│   ├── ClusterAway              the API server of a Kubernetes cluster
│   ├── SellerAway               the lnd that opens direct channels
│   ├── EmailAway                the mail server
│   ├── TorAway                  the Tor that onion addresses need
│   └── MarketAway
│       └── SoldOut              the auction or seller responds, but our balance is low
├── EmailRefused            the mail server rejected this message or its recipient
├── NodeRefused             an lnd rejected a call; has its reason and gRPC code
├── MarketRefused           the auction rejected a call; has its reason
├── AuthorityRefused        the authority rejected a request; has its reason
├── ClusterRefused          an API server rejected a call; reason and HTTP status
├── CannotOpen              an encrypted backup is damaged, or belongs to something else
│   └── WrongPassword            the password opens neither backup nor wallet
├── Stale                   another process changed the row first; the step is retried
│   ├── Lost                     another process has the task: this one stops
│   └── RightsChanged   403  the caller's rights changed: they are read again
├── Violated                a constraint of the database; seeing it means a bug
└── SetupError              the operator can fix it; the message says how
    └── CannotStart              a node can't be started; its owner gets a reason

An error's docstring is its default message. `status` is HTTP's; `error_code` is what
programs decide by, and the heading in docs/customers/errors.md, where `words` and
`remedy` say when it occurs and what to do; `exit_code` is a command's
(`base/cli/exit_codes.py` says what each means). All are inherited: a new error is a
class here and a line above. A test holds docs/customers/errors.md to these.
"""

from collections.abc import Iterator


class LeydenError(Exception):
    """Something went wrong."""

    status = 500
    error_code = "internal_error"
    exit_code = 1
    words = "The platform failed; the failure is logged."
    remedy = (
        "Try again later; if it happens again, tell the operator the `Request-Id` of "
        "the response."
    )

    def __init__(self, message: str = "", *, retry_after_s: int | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.retry_after_s = retry_after_s
        super().__init__(self.message)


def every(kind: type[LeydenError] = LeydenError) -> Iterator[type[LeydenError]]:
    """List all classes of errors, each after its base class."""
    yield kind
    for each in kind.__subclasses__():
        yield from every(each)


class Refused(LeydenError):
    """This request is not possible."""

    status = 400
    error_code = "invalid_request"
    exit_code = 2
    words = "A field or parameter is malformed, unknown or out of range."
    remedy = "Correct the field that `field` names."


class Malformed(Refused):
    """The request is malformed."""

    status = 400


class KeyReused(Malformed):
    """Idempotency-Key: already used for a different request; use a new key."""

    error_code = "idempotency_key_reused"
    words = "The Idempotency-Key was already used for a different request."
    remedy = "Use a new key for each new request."


class Unauthorized(Refused):
    """Unauthorized"""  # noqa: D400  the contract's peers answer this bare word

    status = 401
    error_code = "unauthorized"
    exit_code = 3
    words = "No valid API key, or two different ones: unknown, expired or revoked."
    remedy = "Send one valid key in X-SERVICE-AUTH, or as a Bearer token."


class OverLimit(Refused):
    """The account has reached its limit; ask the operator to raise it."""

    status = 402
    error_code = "credit_limit_reached"
    exit_code = 5
    words = "The corporate account would owe more than its limit."
    remedy = "Pay what the account owes, or ask the operator to raise the limit."


class Forbidden(Refused):
    """You are not allowed to do this."""

    status = 403
    error_code = "forbidden"
    exit_code = 3
    words = "The key's rights don't cover this request; the message says why."
    remedy = "Use a key with these rights, or ask an owner of your organization."


class MissingScope(Forbidden):
    """This key lacks the scope for this request."""

    error_code = "missing_scope"
    words = "The key lacks a scope, which the message names."
    remedy = "Use a key that has this scope."


class NotFound(Refused):
    """not found"""  # noqa: D400  the contract's words

    status = 404
    error_code = "not_found"
    exit_code = 4
    words = "The object does not exist, or belongs to another organization."
    remedy = "Check the id and the organization in the path."


class MethodNotAllowed(Refused):
    """method not allowed"""  # noqa: D400  as terse as its neighbour

    status = 405
    error_code = "method_not_allowed"
    exit_code = 1
    words = "The path does not support this method."
    remedy = "Use a method from the header Allow."


class Conflict(Refused):
    """This is not possible in the current state."""

    status = 409
    error_code = "wrong_state"
    exit_code = 5
    words = "The current state does not allow this request; the message says why."
    remedy = "Get the node or order, and decide by its current status."


class NotAllowed(Conflict):
    """This is not possible in the current state."""


class OverQuota(Conflict):
    """quota: the organization has reached its limit; ask the operator."""

    error_code = "quota_exceeded"
    words = "Your organization has reached a quota."
    remedy = "Delete what you no longer need, or ask the operator to raise the quota."


class Taken(Conflict):
    """This value is already in use."""

    error_code = "already_exists"
    words = "The name or value is already in use."
    remedy = "Choose another name or value."


class InProgress(Conflict):
    """The first request with this Idempotency-Key is still in progress; wait."""

    error_code = "request_in_progress"
    words = "The first request with this Idempotency-Key is still in progress."
    remedy = "Wait the number of seconds in Retry-After, then send the same again."


class Expired(Refused):
    """after: the events after this cursor were deleted; start again without it."""

    status = 410
    error_code = "cursor_expired"
    exit_code = 5
    words = "The events after the cursor were deleted."
    remedy = "Start again without a cursor; you missed the events in between."


class TooLarge(Refused):
    """The request is too large."""

    status = 413
    error_code = "body_too_large"
    words = "The body is too large."
    remedy = "Send a smaller request: see [Limits](api.md#limits)."


class NotJson(Refused):
    """The body must be JSON, sent with Content-Type: application/json."""

    status = 415
    error_code = "not_json"
    words = "The body is not JSON, or is compressed."
    remedy = "Send plain JSON with Content-Type: application/json."


class TooMany(Refused):
    """Too many requests; wait a moment and try again."""

    status = 429
    error_code = "rate_limited"
    exit_code = 6
    words = "Too many requests, wrong keys, wrong coupons or webhook tests."
    remedy = "Wait the number of seconds in Retry-After, then try again."

    def __init__(
        self, message: str = "", *, retry_after_s: int | None = None, limit: int = 0
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.limit = limit  # requests a minute; 0 if it is another limit


class Away(LeydenError):
    """A service that this request needs is unavailable; try again in a moment."""

    status = 503
    error_code = "unavailable"
    exit_code = 6
    words = "A service that the request needs is unavailable."
    remedy = "Wait the number of seconds in Retry-After, then try again."

    def __init__(
        self, message: str = "", *, retry_after_s: int | None = None, why: str = ""
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self._why = why or self.message

    def __str__(self) -> str:
        """Return the operator's message; `message` is for the caller."""
        return self._why


class DatabaseAway(Away):
    """The database is away or busy; try again in a moment."""

    error_code = "database_unavailable"
    words = "The database is away or busy."


class NodeAway(Away):
    """The node does not respond; try again in a moment."""

    error_code = "node_unavailable"
    words = "The node does not respond, or this platform runs no nodes."


class NodeRefused(LeydenError):
    """The node refused the call."""

    exit_code = 8

    def __init__(self, message: str = "", *, code: int = 2) -> None:
        super().__init__(message)
        self.code = code  # gRPC's


class TreasuryAway(Away):
    """The treasury is away, so nothing can be paid; try again in a moment."""

    error_code = "treasury_unavailable"
    words = "Nothing can be paid, or this platform sells no channels."


class AuthorityAway(Away):
    """The certificate authority is unavailable; we will try again."""


class ClusterAway(Away):
    """The cluster's API server is away; we will try again."""

    def __init__(
        self, message: str = "", *, retry_after_s: int | None = None, code: int = 0
    ) -> None:
        super().__init__(
            retry_after_s=retry_after_s, why=message or (type(self).__doc__ or "")
        )
        self.code = code  # HTTP's, where it answered at all


class SellerAway(Away):
    """The seller of direct channels is away; try again in a moment."""

    error_code = "seller_unavailable"
    words = "The seller of direct channels is away."


class EmailAway(Away):
    """The mail server is away; we will try again."""


class TorAway(Away):
    """Tor does not respond; onion addresses wait for it."""


class EmailRefused(LeydenError):
    """The mail server refused the message."""


class MarketAway(Away):
    """The auction is away; try again in a moment."""

    error_code = "auction_unavailable"
    words = "The auction does not respond."


class SoldOut(MarketAway):
    """Channels are sold out at present; try again later."""

    error_code = "sold_out"
    words = "The auction or seller responds, but has too few coins for this channel."
    remedy = "Try a smaller channel, or try again later."


class MarketRefused(LeydenError):
    """The auction refused the call."""


class AuthorityRefused(LeydenError):
    """The certificate authority refused."""

    def __init__(
        self, message: str = "", *, kind: str, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message, retry_after_s=retry_after_s)
        self.kind = kind


class ClusterRefused(LeydenError):
    """The cluster's API server refused the call."""

    def __init__(self, message: str = "", *, code: int, reason: str = "") -> None:
        super().__init__(message)
        self.code = code  # HTTP's
        self.reason = reason  # in one word of the cluster's


class CannotOpen(LeydenError):
    """This backup cannot be opened."""

    exit_code = 8


class WrongPassword(CannotOpen):
    """Wrong password for this backup."""


class Stale(LeydenError):
    """Someone else moved it first; look again and retry."""


class Lost(Stale):
    """Another process holds this task now."""


class RightsChanged(Stale):
    """Your permissions have changed; reload the page."""

    status = 403


class Violated(LeydenError):
    """The database refused to break one of its rules."""


class SetupError(LeydenError):
    """The installation is misconfigured; the message says what to do."""


class CannotStart(SetupError):
    """The node cannot be started."""

    def __init__(self, message: str = "", *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason  # for the node's owner: without paths
