-- Subscriptions: webhook endpoints of organizations.

-- name: add
INSERT INTO subscription (
    id, organization_id, url, description, types, created, sealed_secret,
    sealed_old_secret, old_secret_until, failing_since, pause, stopped, position,
    attempts, due, format, sealed_url
)
VALUES (
    :id, :organization_id, :url, :description, :types, :created, :sealed_secret,
    NULL, NULL, NULL, NULL, 0, :position, 0, :due, :format, :sealed_url
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: get
SELECT *
FROM subscription
WHERE id = :id;

-- name: lock
SELECT *
FROM subscription
WHERE id = :id
/* FOR UPDATE */;

-- name: list
-- Those of its people, who get emails, are theirs.
SELECT *
FROM subscription
WHERE organization_id = :organization_id
    AND format <> 'email'
ORDER BY created, id;

-- name: count
SELECT count(*)
FROM subscription
WHERE organization_id = :organization_id
    AND format <> 'email';

-- name: change
UPDATE subscription
SET url = :url, sealed_url = :sealed_url, description = :description, types = :types,
    stopped = :stopped, failing_since = :failing_since, pause = :pause
WHERE id = :id;

-- name: set_health
UPDATE subscription
SET failing_since = :failing_since, pause = :pause
WHERE id = :id;

-- name: move
UPDATE subscription
SET position = :position, attempts = :attempts, due = :due
WHERE id = :id;

-- name: set_secret
UPDATE subscription
SET sealed_secret = :sealed_secret, sealed_old_secret = :sealed_old_secret,
    old_secret_until = :old_secret_until
WHERE id = :id;

-- name: forget
DELETE FROM subscription
WHERE id = :id;

-- name: wake
-- Makes the tasks of those due that get one of the newest events of these
-- organizations; of paused ones, too, so that none is missed by one that goes on at
-- this moment. Without its last word, `order.paid` is `order.`.
INSERT INTO task (kind, key, due, lease, fence, asked, attempts, holder)
SELECT :kind, id, :now, 0, 0, 0, 0, ''
FROM subscription
WHERE organization_id IN (:organization_ids)
    AND EXISTS (
        SELECT 1
        FROM event_log
        JOIN event ON event.organization_id = event_log.organization_id
            AND event.number > event_log.last - :most
        WHERE event_log.organization_id = subscription.organization_id
            AND (
                subscription.types LIKE '%,*,%'
                OR subscription.types LIKE '%,' || event.type || ',%'
                OR subscription.types
                    LIKE '%,' || rtrim(event.type, 'abcdefghijklmnopqrstuvwxyz_') || '*,%'
            )
    )
ON CONFLICT (kind, key) DO UPDATE
SET due = CASE WHEN task.due > excluded.due THEN excluded.due ELSE task.due END,
    asked = task.asked + 1
RETURNING key;

-- name: without_task
-- Active ones that are behind the log, which nothing will look at. That is right where
-- no event of their types is left.
SELECT subscription.*
FROM subscription
JOIN event_log ON event_log.organization_id = subscription.organization_id
LEFT JOIN task ON task.kind = :kind
    AND task.key = subscription.id
WHERE task.key IS NULL
    AND subscription.pause IS NULL
    AND subscription.stopped = 0
    AND subscription.format <> 'email'
    AND subscription.position < event_log.last
ORDER BY subscription.id;

-- name: add_delivery
-- What is no longer pending can still turn out to be delivered, and nothing else.
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
ORDER BY position DESC
LIMIT :most;

-- name: get_delivery
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
-- Of the oldest so many, those from before then; their attempts go with them.
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
