-- The home that local nodes belong to, and the processes that use it.

-- name: find
SELECT identity, authority, place, host, cluster
FROM home;

-- name: lock
SELECT identity, authority, place, host, cluster
FROM home
/* FOR UPDATE */;

-- name: add
-- Only the first one; nothing if there is one.
INSERT INTO home (id, identity, authority, place, host)
VALUES (1, :identity, :authority, :place, :host)
ON CONFLICT DO NOTHING;

-- name: name_cluster
UPDATE home
SET cluster = :cluster
WHERE cluster = '';

-- name: take
UPDATE home
SET identity = :identity, authority = :authority, place = :place, host = :host;

-- name: end_claims
-- Processes that have claimed tasks of these kinds notice the loss at their next step.
UPDATE task
SET lease = 0, fence = fence + 1, holder = ''
WHERE kind IN (:kinds);

-- name: processes
SELECT id, session, host, pid, beat, until
FROM process
ORDER BY id;

-- name: enter
-- Versions before this one divide the nodes among those that watch.
INSERT INTO process (id, session, host, pid, watches, beat, until)
VALUES (:id, :session, :host, :pid, 0, 0, :until);

-- name: heartbeat
-- Returns nothing if the process was removed.
UPDATE process
SET beat = beat + 1, until = :until
WHERE id = :id
RETURNING beat;

-- name: leave
DELETE FROM process
WHERE id = :id;

-- name: delete_silent
-- Unless it sent a heartbeat meanwhile.
DELETE FROM process
WHERE id = :id
    AND beat = :beat;

-- name: delete_old
DELETE FROM process
WHERE until < :before;

-- name: delete_all
DELETE FROM process;
