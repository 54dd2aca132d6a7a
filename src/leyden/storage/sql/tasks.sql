-- The queue. A claim is held under a fence, which rises with every claim: whoever slept
-- through a lease holds an older fence, and changes nothing.

-- name: put
-- A task that waits is brought forward, and one that runs is to run once more.
INSERT INTO task (kind, key, due, lease, fence, asked, attempts, holder)
VALUES (:kind, :key, :due, 0, 0, 0, 0, '')
ON CONFLICT (kind, key) DO UPDATE
SET due = CASE WHEN task.due > excluded.due THEN excluded.due ELSE task.due END,
    asked = task.asked + 1;

-- name: claim
-- What is due and nobody's; what somebody else is about to claim is left to them.
-- MATERIALIZED, as PostgreSQL may run a subquery with a lock and a limit once for each
-- row of the table, which locks and claims them all.
WITH free AS MATERIALIZED (
    SELECT kind, key
    FROM task
    WHERE kind = :kind
        AND due <= :now
        AND lease <= :now
    ORDER BY due
    LIMIT :most
    /* FOR UPDATE SKIP LOCKED */
)
UPDATE task
SET lease = :until, fence = fence + 1, attempts = attempts + 1, holder = :holder
WHERE (kind, key) IN (SELECT kind, key FROM free)
    AND lease <= :now
RETURNING kind, key, fence, asked, attempts, due;

-- name: claim_at_home
-- As `claim`; nothing where the nodes belong to another home.
WITH free AS MATERIALIZED (
    SELECT kind, key
    FROM task
    WHERE kind = :kind
        AND due <= :now
        AND lease <= :now
        AND EXISTS (
            SELECT id
            FROM home
            WHERE identity = :home_identity
                AND place = :home_place
        )
    ORDER BY due
    LIMIT :most
    /* FOR UPDATE SKIP LOCKED */
)
UPDATE task
SET lease = :until, fence = fence + 1, attempts = attempts + 1, holder = :holder
WHERE (kind, key) IN (SELECT kind, key FROM free)
    AND lease <= :now
RETURNING kind, key, fence, asked, attempts, due;

-- name: claim_watched
-- As `claim_at_home`; only of the nodes whose shards this process holds. A shard is the
-- rest of a node's slot, and a task like any other; what is no node's is with the first.
WITH free AS MATERIALIZED (
    SELECT kind, key
    FROM task
    WHERE kind = :kind
        AND due <= :now
        AND lease <= :now
        AND EXISTS (
            SELECT id
            FROM home
            WHERE identity = :home_identity
                AND place = :home_place
        )
        AND EXISTS (
            SELECT watched.key
            FROM task AS watched
            WHERE watched.kind = :watch_kind
                AND watched.holder = :holder
                AND watched.key = coalesce(
                    (
                        SELECT CAST(coalesce(slot, 0) % :shards AS TEXT)
                        FROM node
                        WHERE id = task.key
                    ),
                    '0'
                )
        )
    ORDER BY due
    LIMIT :most
    /* FOR UPDATE SKIP LOCKED */
)
UPDATE task
SET lease = :until, fence = fence + 1, attempts = attempts + 1, holder = :holder
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

-- name: next_due_watched
SELECT due
FROM task
WHERE kind = :kind
    AND lease <= :now
    AND EXISTS (
        SELECT watched.key
        FROM task AS watched
        WHERE watched.kind = :watch_kind
            AND watched.holder = :holder
            AND watched.key = coalesce(
                (
                    SELECT CAST(coalesce(slot, 0) % :shards AS TEXT)
                    FROM node
                    WHERE id = task.key
                ),
                '0'
            )
    )
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
-- Not if it was put again meanwhile: then it runs again.
DELETE FROM task
WHERE kind = :kind
    AND key = :key
    AND fence = :fence
    AND asked = :asked;

-- name: free
UPDATE task
SET lease = 0, attempts = 0, holder = ''
WHERE kind = :kind
    AND key = :key
    AND fence = :fence;

-- name: free_all
UPDATE task
SET lease = 0, holder = ''
WHERE lease > 0;

-- name: reschedule
-- Whoever put it while it ran wants it now, whatever this run would rather.
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
-- All that a process holds of a kind, in one order: else two wait for each other's rows.
-- What goes on for as long as it is held is next due when that ends, and goes well.
WITH held AS MATERIALIZED (
    SELECT kind, key
    FROM task
    WHERE kind = :kind
        AND key IN (:keys)
        AND key || ' ' || CAST(fence AS TEXT) IN (:held)
    ORDER BY key
    /* FOR UPDATE */
)
UPDATE task
SET lease = :until,
    due = CASE WHEN :continuous = 1 THEN :until ELSE due END,
    attempts = CASE WHEN :continuous = 1 THEN 0 ELSE attempts END
WHERE (kind, key) IN (SELECT kind, key FROM held)
RETURNING key, fence;
