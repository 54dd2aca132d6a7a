-- Organizations' events. The row of a log is locked last, after the rows of tasks:
-- an event becomes visible only after all events with smaller numbers.

-- name: number
-- Takes the next `many` numbers of a log, up to `last`.
INSERT INTO event_log (organization_id, last, first, oldest)
VALUES (:organization_id, :many, 1, :created)
ON CONFLICT (organization_id) DO UPDATE
SET last = event_log.last + excluded.last;

-- name: add
-- With the number that is this far before the last one taken.
INSERT INTO event (organization_id, number, tag, type, created, once, data)
SELECT organization_id, last - :back, :tag, :type, :created, :once, :data
FROM event_log
WHERE organization_id = :organization_id;

-- name: page
-- The log, with its events from `after` up to `until`: those of these types, and both
-- ends, which validate cursors.
SELECT
    event_log.first,
    event_log.last,
    event.*
FROM event_log
LEFT JOIN event ON event.organization_id = event_log.organization_id
    AND event.number >= :after
    AND event.number <= :until
    AND (
        event.type IN (:types)
        OR event.number = :after
        OR event.number = :until
        OR event.number = event_log.last
    )
WHERE event_log.organization_id = :organization_id
ORDER BY event.number
LIMIT :limit;

-- name: page_back
-- The log, with its events of these types, from `from_` to before `before`.
SELECT
    event_log.first,
    event.*
FROM event_log
LEFT JOIN event ON event.organization_id = event_log.organization_id
    AND event.number >= :from_
    AND event.number < :before
    AND event.type IN (:types)
WHERE event_log.organization_id = :organization_id
ORDER BY event.number DESC
LIMIT :limit;

-- name: last
-- The newest event of each log.
SELECT event.*
FROM event_log
JOIN event ON event.organization_id = event_log.organization_id
    AND event.number = event_log.last
WHERE event_log.organization_id IN (:organization_ids);

-- name: logged_at
-- When this was last logged. The subquery reads only the partial index: SQLite would
-- rather read all events of the organization than look up each row of an index.
SELECT created
FROM event
WHERE organization_id = :organization_id
    AND number = (
        SELECT max(number)
        FROM event
        WHERE organization_id = :organization_id
            AND once = :once
    );

-- name: with_old_events
-- Logs with events from before then, and more than one event.
SELECT organization_id
FROM event_log
WHERE oldest < :before
    AND first < last
LIMIT :limit;

-- name: oldest
SELECT number, created
FROM event
WHERE organization_id = :organization_id
ORDER BY number
LIMIT :limit;

-- name: delete
DELETE FROM event
WHERE organization_id = :organization_id
    AND number < :first;

-- name: forgotten
UPDATE event_log
SET first = :first, oldest = :oldest
WHERE organization_id = :organization_id;

-- name: lock
-- Nothing is logged until the end of the transaction. Creates the log if there is none.
INSERT INTO event_log (organization_id, last, first, oldest)
VALUES (:organization_id, 0, 1, :created)
ON CONFLICT (organization_id) DO UPDATE
SET last = event_log.last
RETURNING last;
