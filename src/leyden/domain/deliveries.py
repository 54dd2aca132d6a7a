"""How an event travels: when it is tried, what an answer means, what comes next.

pending ──2xx──> delivered
   │ ├── anything else: tried again, later and later; after the last time ──> failed
   │ └── the receiver is gone (410) ──> failed, and the receiver is paused
   └── a newer status of the node ──> superseded

Events of one node travel in the order in which they happened. Two things may be
overtaken: an event that the receiver itself refused (4xx), since the next one may be
to its taking, and nothing else.
"""

import email.utils
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum, auto

from leyden.values import Struct

# After each failure the next wait; the tenth failure is the last.
RETRIES = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400)
)
# So far, as a part of the wait, a retry moves to either side: a thousand receivers
# that went away together are not called back together.
JITTER = 0.1

# A receiver that has taken nothing for so long is paused.
PATIENCE = timedelta(days=5)

_LONGEST_RETRY_AFTER = timedelta(days=1)
_GONE = 410
_MAY_ASK_FOR_TIME = (429, 503)
# What says "not now" or "not you", rather than "not this".
_ABOUT_THE_MOMENT = (401, 403, 404, 407, 408, 421, 425, 429)


class State(StrEnum):
    """Where an event stands on its way to the receiver."""

    PENDING = auto()  # will be tried, or tried again
    DELIVERED = auto()  # the receiver answered 2xx
    SUPERSEDED = auto()  # a newer status made it stale before it got there
    FAILED = auto()  # tried as often as we try


class Pause(StrEnum):
    """Why nothing is sent to a receiver."""

    FAILING = auto()  # it took nothing for days
    GONE = auto()  # it said 410


class Answer(Struct, frozen=True, kw_only=True):
    """What came back from one attempt: a status, or the reason why there is none."""

    status: int | None = None
    excerpt: str = ""  # the first 2 KiB of the body, made readable
    retry_after: str = ""
    error: str = ""
    took: timedelta = timedelta()

    @property
    def is_success(self) -> bool:
        """Tell whether the receiver took it: 2xx and nothing else."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004

    @property
    def is_refusal(self) -> bool:
        """Tell whether the receiver is well and dislikes this one event."""
        return (
            self.status is not None
            and 400 <= self.status < 500  # noqa: PLR2004  a 4xx
            and self.status not in _ABOUT_THE_MOMENT
        )


class Verdict(Struct, frozen=True, kw_only=True):
    """What one attempt makes of an event, and of its receiver."""

    state: State
    due: datetime  # the next attempt, for what stays pending
    overtakable: bool = False
    pause: Pause | None = None


class Waiting(Struct, frozen=True, kw_only=True):
    """A pending event in the order of events."""

    position: int
    due: datetime
    overtakable: bool


def judge(
    answer: Answer,
    *,
    attempt: int,
    now: datetime,
    failing_since: datetime | None,
    luck: float,
    retries: tuple[timedelta, ...] = RETRIES,
    patience: timedelta = PATIENCE,
) -> Verdict:
    """Say what the answer to attempt number 1, 2, ... means.

    `luck`, from 0 to 1, places the retry within its jitter. `failing_since` is when
    this receiver first failed since it last took anything.
    """
    if answer.is_success:
        return Verdict(state=State.DELIVERED, due=now)
    if answer.status == _GONE:
        return Verdict(state=State.FAILED, due=now, pause=Pause.GONE)
    tired = failing_since is not None and now - failing_since >= patience
    pause = Pause.FAILING if tired else None
    if attempt > len(retries):
        return Verdict(state=State.FAILED, due=now, pause=pause)
    wait = retries[attempt - 1] * (1 + JITTER * (2 * luck - 1))
    if answer.status in _MAY_ASK_FOR_TIME:
        wait = max(wait, _asked_for(answer.retry_after, now))
    return Verdict(
        state=State.PENDING,
        due=now + wait,
        overtakable=answer.is_refusal,
        pause=pause,
    )


def next_up(pending: Iterable[Waiting], now: datetime) -> Waiting | None:
    """Choose the event to send now or, if its time has not come, to wait for.

    `pending` comes in the order of events.
    """
    soonest: Waiting | None = None
    for each in pending:
        if soonest is None or each.due < soonest.due:
            soonest = each
        if each.due <= now or not each.overtakable:
            break
    return soonest


def _asked_for(retry_after: str, now: datetime) -> timedelta:
    """Read a Retry-After, in seconds or as a date; nonsense asks for nothing."""
    retry_after = retry_after.strip()
    if retry_after.isascii() and retry_after.isdigit():
        seconds = min(int(retry_after[:9]), _LONGEST_RETRY_AFTER.total_seconds())
        return timedelta(seconds=seconds)
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except (ValueError, IndexError, TypeError):
        return timedelta()
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return min(max(when - now, timedelta()), _LONGEST_RETRY_AFTER)
