-- The queue. A claim has a fence, which rises with every claim: a worker whose claim has
-- expired has an older fence, and changes nothing. It is at least the time of the claim,
-- so that it also rises where a task was completed, which deletes it, and queued again.

-- name: put
-- A waiting task is brought forward, and a running one will run once more.
INSERT INTO task (kind, key, due, lease, fence, asked, attempts, holder)
VALUES (:kind, :key, :due, 0, 0, 0, 0, '')
ON CONFLICT (kind, key) DO UPDATE
SET due = CASE WHEN task.due > excluded.due THEN excluded.due ELSE task.due END,
    asked = task.asked + 1;

-- name: claim
-- Due tasks without a claim; those that another process is just claiming are skipped.
-- With a holder: only if the nodes' home has registered this process. With a kind to
-- watch: only if this process has claimed the task of that kind.
-- MATERIALIZED, because PostgreSQL may run a subquery with a lock and a limit once for
-- each row of the table, which would lock and claim all of them.
WITH free AS MATERIALIZED (
    SELECT kind, key
    FROM task
    WHERE kind = :kind
        AND due <= :now
        AND lease <= :now
        AND (
            :holder = ''
            OR EXISTS (
                SELECT id
                FROM process
                WHERE id = :holder
            )
        )
        AND (
            :watch = ''
            OR EXISTS (
                SELECT watched.key
                FROM task AS watched
                WHERE watched.kind = :watch
                    AND watched.holder = :holder
            )
        )
    ORDER BY due
    LIMIT :limit
    /* FOR UPDATE SKIP LOCKED */
)
UPDATE task
SET lease = :until,
    fence = CASE WHEN fence < :now THEN :now ELSE fence + 1 END,
    attempts = attempts + 1,
    holder = :holder
WHERE (kind, key) IN (SELECT kind, key FROM free)
    AND lease <= :now
RETURNING kind, key, fence, asked, attempts, due;

-- name: next_due
SELECT due
FROM task
WHERE kind = :kind
    AND lease <= :now
ORDER BY due
LIMIT 1;

-- name: find
SELECT fence
FROM task
WHERE kind = :kind
    AND key = :key;

-- name: held
SELECT fence
FROM task
WHERE kind = :kind
    AND key = :key
    AND fence = :fence;

-- name: lock
SELECT fence
FROM task
WHERE kind = :kind
    AND key = :key
    AND fence = :fence
/* FOR UPDATE */;

-- name: end
-- Not if it was queued again meanwhile: then it runs again.
DELETE FROM task
WHERE kind = :kind
    AND key = :key
    AND fence = :fence
    AND asked = :asked;

-- name: release
UPDATE task
SET lease = 0, attempts = 0, holder = ''
WHERE kind = :kind
    AND key = :key
    AND fence = :fence;

-- name: release_all
UPDATE task
SET lease = 0, holder = ''
WHERE lease > 0;

-- name: reschedule
-- If it was queued again while it ran, it is due at once, whatever this run requested.
UPDATE task
SET lease = 0,
    holder = '',
    due = CASE WHEN asked = :asked THEN :due ELSE due END,
    attempts = :attempts
WHERE kind = :kind
    AND key = :key
    AND fence = :fence
RETURNING key;

-- name: extend
-- All claims of a process on a kind, in a fixed order, so that there are no deadlocks. A
-- permanent task is next due when its claim ends, and counts as not failing. A task that
-- was rescheduled meanwhile has no claim: nobody would run it until the new one ended.
WITH held AS MATERIALIZED (
    SELECT kind, key
    FROM task
    WHERE kind = :kind
        AND key IN (:keys)
        AND key || ' ' || CAST(fence AS TEXT) IN (:held)
        AND lease > 0
    ORDER BY key
    /* FOR UPDATE */
)
UPDATE task
SET lease = :until,
    due = CASE WHEN :continuous = 1 THEN :until ELSE due END,
    attempts = CASE WHEN :continuous = 1 THEN 0 ELSE attempts END
WHERE (kind, key) IN (SELECT kind, key FROM held)
RETURNING key, fence;
