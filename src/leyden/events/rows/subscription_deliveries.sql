-- Events on their way to endpoints, and each attempt. States are literals where the
-- partial index on pending deliveries is used.

-- name: queue
-- Returns nothing if this event may be sent only once, and was. Its task is locked, so
-- nobody else queues one for the same node.
INSERT INTO subscription_delivery (
    subscription_id, event_id, number, type, body, created, state, due, attempts,
    overtakable, once
)
SELECT
    :subscription_id, :event_id, :number, :type, :body, :created, :state, :due, 0, 0,
    :once
WHERE NOT EXISTS (
    SELECT 1
    FROM subscription_delivery
    WHERE subscription_id = :subscription_id
        AND once = :once
)
RETURNING position;

-- name: add
-- A delivery that is no longer pending can only become delivered.
INSERT INTO subscription_delivery (
    subscription_id, event_id, number, type, body, created, state, due, attempts,
    overtakable, once
)
VALUES (
    :subscription_id, :event_id, :number, :type, :body, :created, :state, :due, 1,
    :overtakable, NULL
)
ON CONFLICT (subscription_id, event_id) DO UPDATE
SET attempts = subscription_delivery.attempts + 1,
    state = CASE
        WHEN subscription_delivery.state = 'pending' OR excluded.state = 'delivered'
            THEN excluded.state
        ELSE subscription_delivery.state
    END,
    due = excluded.due,
    overtakable = excluded.overtakable
RETURNING position, attempts;

-- name: add_attempt
INSERT INTO subscription_attempt (delivery, number, at, took, status, excerpt, error)
VALUES (:delivery, :number, :at, :took, :status, :excerpt, :error);

-- name: pending
-- In the order in which they happened.
SELECT position, subscription_delivery.*
FROM subscription_delivery
WHERE subscription_id = :subscription_id
    AND state = 'pending'
ORDER BY position
LIMIT :limit;

-- name: supersede
UPDATE subscription_delivery
SET state = 'superseded'
WHERE subscription_id = :subscription_id
    AND state = 'pending'
    AND type = :type;

-- name: make_due
UPDATE subscription_delivery
SET due = :now
WHERE subscription_id = :subscription_id
    AND state = 'pending'
    AND due > :now;

-- name: give_up
UPDATE subscription_delivery
SET state = 'failed'
WHERE subscription_id = :subscription_id
    AND state = 'pending'
    AND created < :before;

-- name: page
SELECT position, subscription_delivery.*
FROM subscription_delivery
WHERE subscription_id = :subscription_id
    AND position < :before
    AND NOT (type IN (:hidden))
ORDER BY position DESC
LIMIT :limit;

-- name: get
SELECT position, subscription_delivery.*
FROM subscription_delivery
WHERE subscription_id = :subscription_id
    AND event_id = :event_id;

-- name: list_attempts
SELECT subscription_attempt.*
FROM subscription_attempt
JOIN subscription_delivery
    ON subscription_delivery.position = subscription_attempt.delivery
WHERE subscription_delivery.subscription_id = :subscription_id
    AND subscription_delivery.position BETWEEN :first AND :last
ORDER BY subscription_attempt.delivery, subscription_attempt.number;

-- name: prune
-- Of the oldest `limit`, those from before then; their attempts are deleted too.
DELETE FROM subscription_delivery
WHERE position IN (
    SELECT position
    FROM (
        SELECT position, created
        FROM subscription_delivery
        ORDER BY position
        LIMIT :limit
    ) AS oldest
    WHERE created < :before
)
RETURNING position;
