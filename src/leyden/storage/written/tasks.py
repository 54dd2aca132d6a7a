"""Made of sql/tasks.py by `leyden check --write`."""

from leyden.storage.statements import Statement

PUT = Statement(
    sqlite='INSERT INTO task (kind, "key", due, lease, fence, asked, attempts) VALUES (:kind, :key, :due, :lease, :fence, :asked, :attempts) ON CONFLICT (kind, "key") DO UPDATE SET due = CASE WHEN (task.due > excluded.due) THEN excluded.due ELSE task.due END, asked = (task.asked + :asked_1)',
    postgresql='INSERT INTO task (kind, key, due, lease, fence, asked, attempts) VALUES (%(kind)s::VARCHAR, %(key)s::VARCHAR, %(due)s::BIGINT, %(lease)s::BIGINT, %(fence)s::BIGINT, %(asked)s::BIGINT, %(attempts)s::INTEGER) ON CONFLICT (kind, key) DO UPDATE SET due = CASE WHEN (task.due > excluded.due) THEN excluded.due ELSE task.due END, asked = (task.asked + %(asked_1)s::BIGINT)',
    constants={'lease': 0, 'fence': 0, 'asked': 0, 'attempts': 0, 'asked_1': 1},
    types={'kind': 'TEXT', 'key': 'TEXT', 'due': 'BIGINT'},
)
CLAIM = Statement(
    sqlite="""\
UPDATE task SET lease=:until, fence=(task.fence + :fence_1), attempts=(task.attempts + :attempts_1) WHERE (task.kind, task."key") IN (SELECT task.kind, task."key"
FROM task
WHERE task.kind = :kind AND task.due <= :now AND task.lease <= :now ORDER BY task.due
 LIMIT :most OFFSET :param_1) AND task.lease <= :now RETURNING kind, "key", fence, asked, attempts, due""",
    postgresql="""\
UPDATE task SET lease=%(until)s::BIGINT, fence=(task.fence + %(fence_1)s::BIGINT), attempts=(task.attempts + %(attempts_1)s::INTEGER) WHERE (task.kind, task.key) IN (SELECT task.kind, task.key
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.due <= %(now)s::BIGINT AND task.lease <= %(now)s::BIGINT ORDER BY task.due
 LIMIT %(most)s::BIGINT FOR UPDATE SKIP LOCKED) AND task.lease <= %(now)s::BIGINT RETURNING task.kind, task.key, task.fence, task.asked, task.attempts, task.due""",
    constants={'fence_1': 1, 'attempts_1': 1, 'param_1': 0},
    types={'until': 'BIGINT', 'kind': 'TEXT', 'now': 'BIGINT', 'most': 'BIGINT'},
)
NEXT = Statement(
    sqlite="""\
SELECT task.due
FROM task
WHERE task.kind = :kind AND task.lease <= :now ORDER BY task.due
 LIMIT :param_1 OFFSET :param_2""",
    postgresql="""\
SELECT task.due
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.lease <= %(now)s::BIGINT ORDER BY task.due
 LIMIT %(param_1)s::INTEGER""",
    constants={'param_1': 1, 'param_2': 0},
)
CHECK = Statement(
    sqlite="""\
SELECT task.fence
FROM task
WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence""",
    postgresql="""\
SELECT task.fence
FROM task
WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT FOR UPDATE""",
)
END_ONE_OF_MANY = Statement(
    sqlite='DELETE FROM task WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence AND task.asked = :seen',
    postgresql='DELETE FROM task WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT AND task.asked = %(seen)s::BIGINT',
    types={'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT', 'seen': 'BIGINT'},
)
END = Statement(
    sqlite='DELETE FROM task WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence AND task.asked = :seen RETURNING "key"',
    postgresql='DELETE FROM task WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT AND task.asked = %(seen)s::BIGINT RETURNING task.key',
    types={'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT', 'seen': 'BIGINT'},
)
FREE = Statement(
    sqlite='UPDATE task SET lease=:lease, attempts=:attempts WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence',
    postgresql='UPDATE task SET lease=%(lease)s::BIGINT, attempts=%(attempts)s::INTEGER WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT',
    constants={'lease': 0, 'attempts': 0},
    types={'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT'},
)
FREE_ALL = Statement(
    sqlite='UPDATE task SET lease=:lease WHERE task.lease > :lease_1',
    postgresql='UPDATE task SET lease=%(lease)s::BIGINT WHERE task.lease > %(lease_1)s::BIGINT',
    constants={'lease': 0, 'lease_1': 0},
)
AGAIN = Statement(
    sqlite='UPDATE task SET due=CASE WHEN (task.asked = :seen) THEN :next_due ELSE task.due END, lease=:lease, attempts=:next_attempts WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence RETURNING "key"',
    postgresql='UPDATE task SET due=CASE WHEN (task.asked = %(seen)s::BIGINT) THEN %(next_due)s ELSE task.due END, lease=%(lease)s::BIGINT, attempts=%(next_attempts)s::INTEGER WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT RETURNING task.key',
    constants={'lease': 0},
)
EXTEND = Statement(
    sqlite='UPDATE task SET lease=:until WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence RETURNING "key"',
    postgresql='UPDATE task SET lease=%(until)s::BIGINT WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT RETURNING task.key',
    types={'until': 'BIGINT', 'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT'},
)
