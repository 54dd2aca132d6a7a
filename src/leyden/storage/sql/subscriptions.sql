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
-- Without those of people, who get emails and manage their own.
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

-- name: delete
DELETE FROM subscription
WHERE id = :id;

-- name: wake
-- Makes the tasks due of subscriptions that get one of the newest events of these
-- organizations; also of paused ones, so that one that is resumed at this moment misses
-- none. `order.paid` without its last word is `order.`. Tasks are locked in the order of
-- their keys, as those who extend claims do.
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
ORDER BY id
ON CONFLICT (kind, key) DO UPDATE
SET due = CASE WHEN task.due > excluded.due THEN excluded.due ELSE task.due END,
    asked = task.asked + 1
RETURNING key;

-- name: without_task
-- Active subscriptions that are behind the log and have no task. That is right if no
-- event of their types is left.
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
