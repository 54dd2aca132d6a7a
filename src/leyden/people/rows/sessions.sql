-- Sessions, and counts of failed sign-ins.

-- name: add
INSERT INTO session (
    id, digest, user_id, created, seen, expires, whole, address, browser
)
VALUES (
    :id, :digest, :user_id, :created, :seen, :expires, :whole, :address, :browser
);

-- name: find
SELECT id, user_id, created, seen, expires, whole, address, browser
FROM session
WHERE digest = :digest;

-- name: list
SELECT id, user_id, created, seen, expires, whole, address, browser
FROM session
WHERE user_id = :user_id
ORDER BY seen DESC;

-- name: record_use
UPDATE session
SET seen = :now
WHERE id = :id;

-- name: end
DELETE FROM session
WHERE user_id = :user_id
    AND id = :id
RETURNING id;

-- name: end_others
DELETE FROM session
WHERE user_id = :user_id
    AND id <> :id;

-- name: end_all
DELETE FROM session
RETURNING id;

-- name: limit_sessions
-- All of a person's sessions except the most recently used ones. Those that wait for a
-- code are counted apart: who knows only the password can begin as many as they like.
DELETE FROM session
WHERE user_id = :user_id
    AND whole = :whole
    AND id NOT IN (
        SELECT id
        FROM session
        WHERE user_id = :user_id
            AND whole = :whole
        ORDER BY seen DESC, created DESC, id
        LIMIT :limit
    );

-- name: prune
DELETE FROM session
WHERE id IN (
    SELECT id
    FROM session
    WHERE expires < :now
    LIMIT :limit
)
RETURNING id;

-- name: count_failure
-- Adds one. The count starts over if it began before `start`, or after `end` (then a
-- clock was set back since).
INSERT INTO sign_in_failure (who, since, count)
VALUES (:who, :now, 1)
ON CONFLICT (who) DO UPDATE
SET since = CASE
        WHEN sign_in_failure.since NOT BETWEEN :start AND :end THEN excluded.since
        ELSE sign_in_failure.since
    END,
    count = CASE
        WHEN sign_in_failure.since NOT BETWEEN :start AND :end THEN 1
        ELSE sign_in_failure.count + 1
    END
RETURNING count, since;

-- name: reset_failures
DELETE FROM sign_in_failure
WHERE who = :who;

-- name: uncount
UPDATE sign_in_failure
SET count = count - 1
WHERE who = :who AND count > 0;

-- name: prune_failures
DELETE FROM sign_in_failure
WHERE who IN (
    SELECT who
    FROM sign_in_failure
    WHERE since < :before
    LIMIT :limit
)
RETURNING who;
