-- The events sent to subscriptions, and each attempt.

-- name: add
-- A delivery that is no longer pending can only become delivered.
INSERT INTO subscription_delivery (
    subscription_id, event_id, number, type, body, created, state, due, attempts
)
VALUES (
    :subscription_id, :event_id, :number, :type, :body, :created, :state, :due, 1
)
ON CONFLICT (subscription_id, event_id) DO UPDATE
SET attempts = subscription_delivery.attempts + 1,
    state = CASE
        WHEN subscription_delivery.state = 'pending' OR excluded.state = 'delivered'
            THEN excluded.state
        ELSE subscription_delivery.state
    END,
    due = excluded.due
RETURNING position, attempts;

-- name: add_attempt
INSERT INTO subscription_attempt (delivery, number, at, took, status, excerpt, error)
VALUES (:delivery, :number, :at, :took, :status, :excerpt, :error);

-- name: page
SELECT position, subscription_delivery.*
FROM subscription_delivery
WHERE subscription_id = :subscription_id
    AND position < :before
    AND NOT (type IN (:hidden))
ORDER BY position DESC
LIMIT :most;

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
-- Of the oldest `most`, those from before then; their attempts are deleted too.
DELETE FROM subscription_delivery
WHERE position IN (
    SELECT position
    FROM (
        SELECT position, created
        FROM subscription_delivery
        ORDER BY position
        LIMIT :most
    ) AS oldest
    WHERE created < :before
)
RETURNING position;
