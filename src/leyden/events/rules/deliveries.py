"""Delivery of events: retries, the meaning of responses, and the next event.

pending ──2xx──> delivered
   │ ├── anything else: retried with growing delay; in the end ──> failed
   │ └── the receiver is gone (410) ──> failed, and the receiver is paused
   └── a newer status of the node ──> superseded

Events of one endpoint are delivered in the order in which they happened. The
one exception: a node's event that the receiver rejected (4xx) may be overtaken,
since the receiver may accept the next one. Only statuses of nodes are superseded.
"""

import email.utils
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum, auto
from itertools import accumulate
from operator import add

from leyden.values import Struct

# The wait after each failure; the tenth failure is final.
RETRIES = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400)
)
# A retry moves randomly by up to this fraction of the wait, so that a thousand
# receivers that failed at the same time are not called again at the same time.
JITTER = 0.1

# A receiver that has accepted nothing for this long is paused.
PATIENCE = timedelta(days=5)

_LONGEST_RETRY_AFTER = timedelta(days=1)
_GONE = 410
_RETRY_AFTER_STATUSES = (429, 503)
# These reject the moment or the caller, rather than the event.
_NOT_ABOUT_THE_EVENT = (401, 403, 404, 407, 408, 421, 425, 429)


TEST = 0  # the number of a test event, which is not in the log
QUEUED = -1  # that of an event that was queued for a node's endpoint


class DeliveryState(StrEnum):
    """The delivery state of an event."""

    PENDING = auto()  # will be sent, or retried
    DELIVERED = auto()  # the receiver responded with 2xx
    SUPERSEDED = auto()  # a newer status replaced it before it was delivered
    FAILED = auto()  # all attempts failed


class Pause(StrEnum):
    """The reason why nothing is sent to a receiver."""

    FAILING = auto()  # it accepted nothing for days
    GONE = auto()  # it responded with 410


class Answer(Struct, frozen=True, kw_only=True):
    """The result of one attempt: a status, or the reason why there is none."""

    status: int | None = None
    excerpt: str = ""  # the first 2 KiB of the body, made readable
    retry_after: str = ""
    error: str = ""
    took: timedelta = timedelta()

    @property
    def is_success(self) -> bool:
        """Whether the receiver accepted the event: 2xx and nothing else."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004

    @property
    def is_refusal(self) -> bool:
        """Whether a working receiver rejected this one event."""
        return (
            self.status is not None
            and 400 <= self.status < 500  # noqa: PLR2004  a 4xx
            and self.status not in _NOT_ABOUT_THE_EVENT
        )


class Verdict(Struct, frozen=True, kw_only=True):
    """The consequences of an attempt for an event and its receiver."""

    state: DeliveryState
    due: datetime  # of the next attempt, if it stays pending
    overtakable: bool = False
    pause: Pause | None = None


class Message(Struct, frozen=True, kw_only=True):
    """An event on its way to an endpoint."""

    id: str
    number: int  # in the log; see QUEUED and TEST
    type: str
    body: str
    created: datetime
    state: DeliveryState
    due: datetime
    attempts: int
    overtakable: bool = False
    after: int = -1  # the endpoint's position in the log; -1 if sent by hand

    @property
    def test(self) -> bool:
        """Whether it is a test, which is not sent again by itself."""
        return self.number == TEST


def judge(
    answer: Answer,
    *,
    attempt: int,
    created: datetime,
    now: datetime,
    failing_since: datetime | None,
    jitter: float,
    retries: tuple[timedelta, ...] = RETRIES,
    patience: timedelta = PATIENCE,
) -> Verdict:
    """Return the verdict for the result of attempt number 1, 2, ...

    Attempts that a newer event of the node brought forward bring no other forward.
    `jitter`, from 0 to 1, places the retry within its jitter. `failing_since` is
    when this receiver first failed after it last accepted an event.
    """
    if answer.is_success:
        return Verdict(state=DeliveryState.DELIVERED, due=now)
    if answer.status == _GONE:
        return Verdict(state=DeliveryState.FAILED, due=now, pause=Pause.GONE)
    tired = failing_since is not None and now - failing_since >= patience
    pause = Pause.FAILING if tired else None
    planned = min(attempt, _most_attempts(now - created, retries))
    if planned > len(retries):
        return Verdict(state=DeliveryState.FAILED, due=now, pause=pause)
    wait = retries[planned - 1] * (1 + JITTER * (2 * jitter - 1))
    if answer.status in _RETRY_AFTER_STATUSES:
        wait = max(wait, _parse_retry_after(answer.retry_after, now))
    return Verdict(
        state=DeliveryState.PENDING,
        due=now + wait,
        overtakable=answer.is_refusal,
        pause=pause,
    )


def next_up(pending: Iterable[Message], now: datetime) -> Message | None:
    """Return the event to send now or, if it is not due yet, to wait for.

    `pending` is in the order of events.
    """
    soonest: Message | None = None
    for each in pending:
        if soonest is None or each.due < soonest.due:
            soonest = each
        if each.due <= now or not each.overtakable:
            break
    return soonest


def _most_attempts(age: timedelta, retries: tuple[timedelta, ...]) -> int:
    """Return how many attempts an event of this age can have had by its retries."""
    if age < timedelta():  # the clock was set back, and says nothing
        return len(retries) + 1
    earliest = 1 - 2 * JITTER
    totals: Iterable[timedelta] = accumulate(retries, add)
    return 1 + sum(total * earliest <= age for total in totals)


def _parse_retry_after(retry_after: str, now: datetime) -> timedelta:
    """Parse Retry-After, in seconds or as a date; zero if it is invalid."""
    retry_after = retry_after.strip()
    if retry_after.isascii() and retry_after.isdigit():
        seconds = min(int(retry_after[:9]), _LONGEST_RETRY_AFTER.total_seconds())
        return timedelta(seconds=seconds)
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except (ValueError, IndexError, TypeError, OverflowError):  # the year 10**11
        return timedelta()
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return min(max(when - now, timedelta()), _LONGEST_RETRY_AFTER)
