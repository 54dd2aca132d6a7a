"""What an answer means, and which event is next."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leyden.events.rules.deliveries import (
    QUEUED,
    RETRIES,
    Answer,
    DeliveryState,
    Message,
    Pause,
    Verdict,
    judge,
    next_up,
)

NOON = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)


def verdict(
    answer: Answer,
    *,
    attempt: int = 1,
    age: timedelta = timedelta(days=3),
    failing_since: datetime | None = None,
    jitter: float = 0.5,
) -> Verdict:
    return judge(
        answer,
        attempt=attempt,
        created=NOON - age,
        now=NOON,
        failing_since=failing_since,
        jitter=jitter,
    )


def wait(answer: Answer, *, attempt: int = 1, jitter: float = 0.5) -> float:
    return (verdict(answer, attempt=attempt, jitter=jitter).due - NOON).total_seconds()


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_is_success(status: int) -> None:
    assert verdict(Answer(status=status)).state is DeliveryState.DELIVERED


@pytest.mark.parametrize(
    "answer",
    [
        Answer(error="timed out"),
        *(
            Answer(status=status)
            for status in (101, 199, 300, 301, 302, 307, 308, 400, 404, 429, 500, 503)
        ),
    ],
)
def test_everything_else_is_tried_again(answer: Answer) -> None:
    assert verdict(answer).state is DeliveryState.PENDING
    assert verdict(answer).pause is None


def test_the_waits_grow_as_promised_and_then_it_is_given_up() -> None:
    away = Answer(error="connection refused")
    waits = [wait(away, attempt=n) for n in range(1, 10)]
    assert waits == [5, 30, 120, 600, 3600, 10800, 21600, 43200, 86400]
    assert verdict(away, attempt=10).state is DeliveryState.FAILED


@pytest.mark.parametrize(
    ("age", "next_wait"),
    [
        (-60, 86_400),
        (0, 5),
        (4, 30),  # the first retry comes then at the earliest
        (5, 30),
        (35, 120),
        (3_000, 3_600),
        (120_000, 86_400),
    ],
)
def test_attempts_that_were_brought_forward_are_added(age: int, next_wait: int) -> None:
    """A newer event of the node has them made at once, many times in a minute."""
    away = Answer(error="connection refused")
    young = timedelta(seconds=age)
    after = verdict(away, attempt=9 if age < 0 else 12, age=young)
    assert (after.state, (after.due - NOON).total_seconds()) == (
        DeliveryState.PENDING,
        next_wait,
    )


def test_with_a_clock_that_was_set_back_it_is_given_up_all_the_same() -> None:
    away, before = Answer(error="connection refused"), timedelta(seconds=-60)
    assert verdict(away, attempt=10, age=before).state is DeliveryState.FAILED


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
def test_what_nothing_brings_forward_is_tried_ten_times(jitter: float) -> None:
    away, age, tried = Answer(error="connection refused"), timedelta(), 0
    state = DeliveryState.PENDING
    while state is DeliveryState.PENDING:
        tried += 1
        after = verdict(away, attempt=tried, age=age, jitter=jitter)
        state = after.state
        age += after.due - NOON
    assert tried == len(RETRIES) + 1


@given(
    jitter=st.floats(0, 1),
    attempt=st.integers(1, len(RETRIES)),
    answer=st.sampled_from([Answer(status=500), Answer(error="reset")]),
)
def test_a_retry_stays_within_a_tenth_of_its_time(
    jitter: float, attempt: int, answer: Answer
) -> None:
    planned = RETRIES[attempt - 1].total_seconds()
    assert (
        abs(wait(answer, attempt=attempt, jitter=jitter) - planned) <= planned * 0.1001
    )


def test_a_retry_is_a_tenth_earlier_or_later_at_the_most() -> None:
    away = Answer(error="reset")
    assert [wait(away, attempt=2, jitter=jitter) for jitter in (0, 0.5, 1)] == [
        27,
        30,
        33,
    ]


@pytest.mark.parametrize(
    ("answer", "attempt", "then"),
    [
        (Answer(status=200), 1, Verdict(state=DeliveryState.DELIVERED, due=NOON)),
        (
            Answer(status=410),
            1,
            Verdict(state=DeliveryState.FAILED, due=NOON, pause=Pause.GONE),
        ),
        (Answer(status=500), 10, Verdict(state=DeliveryState.FAILED, due=NOON)),
        (
            Answer(status=422),
            1,
            Verdict(
                state=DeliveryState.PENDING,
                due=NOON + timedelta(seconds=5),
                overtakable=True,
            ),
        ),
    ],
)
def test_what_follows_from_an_answer(
    answer: Answer, attempt: int, then: Verdict
) -> None:
    assert verdict(answer, attempt=attempt) == then


def test_the_last_attempt_of_a_tired_receiver_pauses_it_too() -> None:
    last = verdict(
        Answer(status=500), attempt=10, failing_since=NOON - timedelta(days=5)
    )
    assert last == Verdict(state=DeliveryState.FAILED, due=NOON, pause=Pause.FAILING)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_honoured_in_seconds_and_as_a_date(status: int) -> None:
    assert wait(Answer(status=status, retry_after="77")) == 77
    assert wait(Answer(status=status, retry_after="1")) == 5, "never sooner than ours"
    assert wait(Answer(status=status, retry_after=" 77 ")) == 77
    for zone in ("GMT", "-0000"):  # the latter is of no zone, and so of ours
        date = f"Sat, 14 Mar 2026 12:03:00 {zone}"
        assert wait(Answer(status=status, retry_after=date)) == 180
    far = "Mon, 16 Mar 2026 12:00:00 GMT"
    assert wait(Answer(status=status, retry_after=far)) == 86_400
    assert wait(Answer(status=status, retry_after="9" * 400)) == 86_400


def test_retry_after_counts_for_429_and_503_alone() -> None:
    assert wait(Answer(status=500, retry_after="77")) == 5


@given(st.text(max_size=60))
def test_a_nonsensical_retry_after_breaks_nothing(nonsense: str) -> None:
    assert 5 <= wait(Answer(status=429, retry_after=nonsense)) <= 86_400


@pytest.mark.parametrize(
    "nonsense",
    [
        *("soon", "-5", "²", "1.5", "Sat, 99 Mar 2026", "Wed, 1 Jan 0001 00:00:00"),
        *("Thu, 1 Jan 99999999999 00:00:00 GMT", f"1 Jan 2026 1:2:{10**20} GMT"),
    ],
)
def test_retry_after_nonsense_asks_for_nothing(nonsense: str) -> None:
    assert wait(Answer(status=429, retry_after=nonsense)) == 5


def test_five_days_of_failure_pause_the_receiver() -> None:
    away = Answer(error="connection refused")
    almost = NOON - timedelta(days=5) + timedelta(seconds=1)
    assert verdict(away, failing_since=almost).pause is None
    tired = verdict(away, failing_since=NOON - timedelta(days=5))
    assert tired.pause is Pause.FAILING
    assert tired.state is DeliveryState.PENDING, (
        "the event waits for the receiver's return"
    )
    assert verdict(Answer(status=200), failing_since=almost).pause is None


def waiting(position: int, due_in: int, *, overtakable: bool = False) -> Message:
    return Message(
        id=str(position),
        number=QUEUED,
        type="status",
        body="",
        created=NOON,
        state=DeliveryState.PENDING,
        due=NOON + timedelta(seconds=due_in),
        attempts=0,
        overtakable=overtakable,
    )


@pytest.mark.parametrize(
    ("pending", "chosen"),
    [
        ([], None),
        ([waiting(1, 0), waiting(2, 0)], 1),
        ([waiting(1, 60), waiting(2, 0)], 1),  # in order: the second waits
        ([waiting(1, 60, overtakable=True), waiting(2, 0)], 2),
        ([waiting(1, -1, overtakable=True), waiting(2, 0)], 1),
        ([waiting(1, 60, overtakable=True), waiting(2, 90)], 1),
        ([waiting(1, 60, overtakable=True), waiting(2, 60)], 1),
        ([waiting(1, 0, overtakable=True), waiting(2, -5)], 1),
        ([waiting(1, 90, overtakable=True), waiting(2, 60), waiting(3, 0)], 2),
        (
            [
                waiting(1, 90, overtakable=True),
                waiting(2, 60, overtakable=True),
                waiting(3, 0),
            ],
            3,
        ),
    ],
)
def test_events_keep_their_order_unless_the_receiver_refused_one(
    pending: list[Message], chosen: int | None
) -> None:
    event = next_up(pending, NOON)
    assert (event.id if event else None) == (chosen and str(chosen))


def test_only_a_refusal_of_this_event_lets_others_pass() -> None:
    for status in (400, 405, 413, 422):
        assert verdict(Answer(status=status)).overtakable
    for status in (301, 401, 403, 404, 408, 429, 500, 503):
        assert not verdict(Answer(status=status)).overtakable
    assert not verdict(Answer(error="reset")).overtakable
