"""Made of sql/tasks.py by `leyden check --write`."""

from leyden.storage.statements import Statement

IS_OURS = Statement(
    sqlite="""\
EXISTS (SELECT home.id
FROM home
WHERE home.identity = :home_identity AND home.place = :home_place)""",
    postgresql="""\
EXISTS (SELECT home.id
FROM home
WHERE home.identity = %(home_identity)s::VARCHAR AND home.place = %(home_place)s::VARCHAR)""",
)
PUT = Statement(
    sqlite='INSERT INTO task (kind, "key", due, lease, fence, asked, attempts) VALUES (:kind, :key, :due, :lease, :fence, :asked, :attempts) ON CONFLICT (kind, "key") DO UPDATE SET due = CASE WHEN (task.due > excluded.due) THEN excluded.due ELSE task.due END, asked = (task.asked + :asked_1)',
    postgresql='INSERT INTO task (kind, key, due, lease, fence, asked, attempts) VALUES (%(kind)s::VARCHAR, %(key)s::VARCHAR, %(due)s::BIGINT, %(lease)s::BIGINT, %(fence)s::BIGINT, %(asked)s::BIGINT, %(attempts)s::INTEGER) ON CONFLICT (kind, key) DO UPDATE SET due = CASE WHEN (task.due > excluded.due) THEN excluded.due ELSE task.due END, asked = (task.asked + %(asked_1)s::BIGINT)',
    constants={'lease': 0, 'fence': 0, 'asked': 0, 'attempts': 0, 'asked_1': 1},
    types={'kind': 'TEXT', 'key': 'TEXT', 'due': 'BIGINT'},
)
IS_WATCHED = Statement(
    sqlite="""\
EXISTS (SELECT watched."key"
FROM task AS watched
WHERE watched.kind = :watch_kind AND watched.holder = :holder AND watched."key" = coalesce((SELECT CAST(coalesce(node.slot, :coalesce_1) % :shards AS TEXT) AS anon_1
FROM node, task
WHERE node.id = task."key"), :param_1))""",
    postgresql="""\
EXISTS (SELECT watched.key
FROM task AS watched
WHERE watched.kind = %(watch_kind)s::VARCHAR AND watched.holder = %(holder)s::VARCHAR AND watched.key = coalesce((SELECT CAST(coalesce(node.slot, %(coalesce_1)s::INTEGER) %% %(shards)s::BIGINT AS TEXT) AS anon_1
FROM node, task
WHERE node.id = task.key), %(param_1)s::VARCHAR))""",
    constants={'coalesce_1': 0, 'param_1': '0'},
)
CLAIM = Statement(
    sqlite="""\
UPDATE task SET lease=:until, fence=(task.fence + :fence_1), attempts=(task.attempts + :attempts_1), holder=:holder WHERE (task.kind, task."key") IN (SELECT task.kind, task."key"
FROM task
WHERE task.kind = :kind AND task.due <= :now AND task.lease <= :now ORDER BY task.due
 LIMIT :most OFFSET :param_1) AND task.lease <= :now RETURNING kind, "key", fence, asked, attempts, due""",
    postgresql="""\
UPDATE task SET lease=%(until)s::BIGINT, fence=(task.fence + %(fence_1)s::BIGINT), attempts=(task.attempts + %(attempts_1)s::INTEGER), holder=%(holder)s::VARCHAR WHERE (task.kind, task.key) IN (SELECT task.kind, task.key
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.due <= %(now)s::BIGINT AND task.lease <= %(now)s::BIGINT ORDER BY task.due
 LIMIT %(most)s::BIGINT FOR UPDATE OF task SKIP LOCKED) AND task.lease <= %(now)s::BIGINT RETURNING task.kind, task.key, task.fence, task.asked, task.attempts, task.due""",
    constants={'fence_1': 1, 'attempts_1': 1, 'param_1': 0},
    types={'until': 'BIGINT', 'holder': 'TEXT', 'kind': 'TEXT', 'now': 'BIGINT', 'most': 'BIGINT'},
)
CLAIM_AT_HOME = Statement(
    sqlite="""\
UPDATE task SET lease=:until, fence=(task.fence + :fence_1), attempts=(task.attempts + :attempts_1), holder=:holder WHERE (task.kind, task."key") IN (SELECT task.kind, task."key"
FROM task
WHERE task.kind = :kind AND task.due <= :now AND task.lease <= :now AND (EXISTS (SELECT home.id
FROM home
WHERE home.identity = :home_identity AND home.place = :home_place)) ORDER BY task.due
 LIMIT :most OFFSET :param_1) AND task.lease <= :now RETURNING kind, "key", fence, asked, attempts, due""",
    postgresql="""\
UPDATE task SET lease=%(until)s::BIGINT, fence=(task.fence + %(fence_1)s::BIGINT), attempts=(task.attempts + %(attempts_1)s::INTEGER), holder=%(holder)s::VARCHAR WHERE (task.kind, task.key) IN (SELECT task.kind, task.key
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.due <= %(now)s::BIGINT AND task.lease <= %(now)s::BIGINT AND (EXISTS (SELECT home.id
FROM home
WHERE home.identity = %(home_identity)s::VARCHAR AND home.place = %(home_place)s::VARCHAR)) ORDER BY task.due
 LIMIT %(most)s::BIGINT FOR UPDATE OF task SKIP LOCKED) AND task.lease <= %(now)s::BIGINT RETURNING task.kind, task.key, task.fence, task.asked, task.attempts, task.due""",
    constants={'fence_1': 1, 'attempts_1': 1, 'param_1': 0},
    types={'until': 'BIGINT', 'holder': 'TEXT', 'kind': 'TEXT', 'now': 'BIGINT', 'home_identity': 'TEXT', 'home_place': 'TEXT', 'most': 'BIGINT'},
)
CLAIM_WATCHED = Statement(
    sqlite="""\
UPDATE task SET lease=:until, fence=(task.fence + :fence_1), attempts=(task.attempts + :attempts_1), holder=:holder WHERE (task.kind, task."key") IN (SELECT task.kind, task."key"
FROM task
WHERE task.kind = :kind AND task.due <= :now AND task.lease <= :now AND (EXISTS (SELECT home.id
FROM home
WHERE home.identity = :home_identity AND home.place = :home_place)) AND (EXISTS (SELECT watched."key"
FROM task AS watched
WHERE watched.kind = :watch_kind AND watched.holder = :holder AND watched."key" = coalesce((SELECT CAST(coalesce(node.slot, :coalesce_1) % :shards AS TEXT) AS anon_1
FROM node
WHERE node.id = task."key"), :param_1))) ORDER BY task.due
 LIMIT :most OFFSET :param_2) AND task.lease <= :now RETURNING kind, "key", fence, asked, attempts, due""",
    postgresql="""\
UPDATE task SET lease=%(until)s::BIGINT, fence=(task.fence + %(fence_1)s::BIGINT), attempts=(task.attempts + %(attempts_1)s::INTEGER), holder=%(holder)s::VARCHAR WHERE (task.kind, task.key) IN (SELECT task.kind, task.key
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.due <= %(now)s::BIGINT AND task.lease <= %(now)s::BIGINT AND (EXISTS (SELECT home.id
FROM home
WHERE home.identity = %(home_identity)s::VARCHAR AND home.place = %(home_place)s::VARCHAR)) AND (EXISTS (SELECT watched.key
FROM task AS watched
WHERE watched.kind = %(watch_kind)s::VARCHAR AND watched.holder = %(holder)s::VARCHAR AND watched.key = coalesce((SELECT CAST(coalesce(node.slot, %(coalesce_1)s::INTEGER) %% %(shards)s::BIGINT AS TEXT) AS anon_1
FROM node
WHERE node.id = task.key), %(param_1)s::VARCHAR))) ORDER BY task.due
 LIMIT %(most)s::BIGINT FOR UPDATE OF task SKIP LOCKED) AND task.lease <= %(now)s::BIGINT RETURNING task.kind, task.key, task.fence, task.asked, task.attempts, task.due""",
    constants={'fence_1': 1, 'attempts_1': 1, 'coalesce_1': 0, 'param_1': '0', 'param_2': 0},
    types={'until': 'BIGINT', 'holder': 'TEXT', 'kind': 'TEXT', 'now': 'BIGINT', 'home_identity': 'TEXT', 'home_place': 'TEXT', 'watch_kind': 'TEXT', 'shards': 'BIGINT', 'most': 'BIGINT'},
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
NEXT_WATCHED = Statement(
    sqlite="""\
SELECT task.due
FROM task
WHERE task.kind = :kind AND task.lease <= :now AND (EXISTS (SELECT watched."key"
FROM task AS watched
WHERE watched.kind = :watch_kind AND watched.holder = :holder AND watched."key" = coalesce((SELECT CAST(coalesce(node.slot, :coalesce_1) % :shards AS TEXT) AS anon_1
FROM node
WHERE node.id = task."key"), :param_1))) ORDER BY task.due
 LIMIT :param_2 OFFSET :param_3""",
    postgresql="""\
SELECT task.due
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.lease <= %(now)s::BIGINT AND (EXISTS (SELECT watched.key
FROM task AS watched
WHERE watched.kind = %(watch_kind)s::VARCHAR AND watched.holder = %(holder)s::VARCHAR AND watched.key = coalesce((SELECT CAST(coalesce(node.slot, %(coalesce_1)s::INTEGER) %% %(shards)s::BIGINT AS TEXT) AS anon_1
FROM node
WHERE node.id = task.key), %(param_1)s::VARCHAR))) ORDER BY task.due
 LIMIT %(param_2)s::INTEGER""",
    constants={'coalesce_1': 0, 'param_1': '0', 'param_2': 1, 'param_3': 0},
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
    sqlite='UPDATE task SET lease=:lease, attempts=:attempts, holder=:holder WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence',
    postgresql='UPDATE task SET lease=%(lease)s::BIGINT, attempts=%(attempts)s::INTEGER, holder=%(holder)s::VARCHAR WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT',
    constants={'lease': 0, 'attempts': 0, 'holder': ''},
    types={'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT'},
)
FREE_ALL = Statement(
    sqlite='UPDATE task SET lease=:lease, holder=:holder WHERE task.lease > :lease_1',
    postgresql='UPDATE task SET lease=%(lease)s::BIGINT, holder=%(holder)s::VARCHAR WHERE task.lease > %(lease_1)s::BIGINT',
    constants={'lease': 0, 'holder': '', 'lease_1': 0},
)
AGAIN = Statement(
    sqlite='UPDATE task SET due=CASE WHEN (task.asked = :seen) THEN :next_due ELSE task.due END, lease=:lease, attempts=:next_attempts, holder=:holder WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence RETURNING "key"',
    postgresql='UPDATE task SET due=CASE WHEN (task.asked = %(seen)s::BIGINT) THEN %(next_due)s ELSE task.due END, lease=%(lease)s::BIGINT, attempts=%(next_attempts)s::INTEGER, holder=%(holder)s::VARCHAR WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT RETURNING task.key',
    constants={'lease': 0, 'holder': ''},
)
EXTEND = Statement(
    sqlite='UPDATE task SET lease=:until WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence RETURNING "key"',
    postgresql='UPDATE task SET lease=%(until)s::BIGINT WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT RETURNING task.key',
    types={'until': 'BIGINT', 'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT'},
)
STAND = Statement(
    sqlite='UPDATE task SET due=:until, lease=:until, attempts=:attempts WHERE task.kind = :task_kind AND task."key" = :task_key AND task.fence = :held_fence RETURNING "key"',
    postgresql='UPDATE task SET due=%(until)s::BIGINT, lease=%(until)s::BIGINT, attempts=%(attempts)s::INTEGER WHERE task.kind = %(task_kind)s::VARCHAR AND task.key = %(task_key)s::VARCHAR AND task.fence = %(held_fence)s::BIGINT RETURNING task.key',
    constants={'attempts': 0},
    types={'until': 'BIGINT', 'task_kind': 'TEXT', 'task_key': 'TEXT', 'held_fence': 'BIGINT'},
)
