-- Attempts to deliver webhook events.

-- name: settle
-- An event that is no longer pending can only become delivered.
UPDATE webhook_event
SET attempts = attempts + 1,
    state = CASE
        WHEN state = 'pending' OR :state = 'delivered' THEN :state
        ELSE state
    END,
    due = CASE
        WHEN state = 'pending' OR :state = 'delivered' THEN :due
        ELSE due
    END,
    overtakable = :overtakable
WHERE id = :event_id
RETURNING attempts;

-- name: add
INSERT INTO webhook_attempt (event_id, number, at, took, status, excerpt, error)
VALUES (:event_id, :number, :at, :took, :status, :excerpt, :error);

-- name: list_attempts
-- For a node's events from the first to the last of these positions.
SELECT webhook_attempt.*
FROM webhook_attempt
JOIN webhook_event ON webhook_event.id = webhook_attempt.event_id
WHERE webhook_event.node_id = :node_id
    AND webhook_event.position BETWEEN :first AND :last
ORDER BY webhook_attempt.event_id, webhook_attempt.number;

-- name: prune
-- Of the oldest `most` events, those from before then; their attempts are deleted too.
DELETE FROM webhook_event
WHERE position IN (
    SELECT position
    FROM (
        SELECT position, created
        FROM webhook_event
        ORDER BY position
        LIMIT :most
    ) AS oldest
    WHERE created < :before
)
RETURNING position;
