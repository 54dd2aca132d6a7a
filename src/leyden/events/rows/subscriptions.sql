-- Endpoints that get events. A node's webhook has no organization here, so that only the
-- node says whose it is: nothing that looks for an organization's endpoints finds it.

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

-- name: keep_of_node
INSERT INTO subscription (
    id, organization_id, url, description, types, created, sealed_secret,
    sealed_old_secret, old_secret_until, failing_since, pause, stopped, position,
    attempts, due, format, sealed_url
)
VALUES (
    :node_id, '', '', '', '', :created, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, :created,
    'node', NULL
)
ON CONFLICT DO NOTHING;

-- name: get
SELECT *
FROM subscription
WHERE id = :id;

-- name: get_of_node
-- Everything that a delivery needs, in one query. Most have no row of their own.
SELECT
    node.organization_id,
    node.created,
    node.settings,
    node_outfit.webhook_secret,
    subscription.sealed_old_secret,
    subscription.old_secret_until,
    subscription.failing_since,
    subscription.pause
FROM node
JOIN node_outfit ON node_outfit.node_id = node.id
LEFT JOIN subscription ON subscription.id = node.id
WHERE node.id = :node_id;

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
            AND event.number > event_log.last - :limit
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

-- name: nodes_without_task
-- Nodes with pending events, an active webhook, and no task that sends them.
SELECT DISTINCT subscription_id
FROM subscription_delivery
JOIN subscription ON subscription.id = subscription_delivery.subscription_id
LEFT JOIN task ON task.kind = :kind
    AND task.key = subscription.id
WHERE subscription_delivery.state = 'pending'
    AND subscription.format = 'node'
    AND subscription.pause IS NULL
    AND task.key IS NULL
ORDER BY subscription_id;
