-- Events of nodes that the last release stores while it runs beside this one. A moved
-- update stays, superseded, so that the last release does not announce it again.

-- name: nodes
SELECT DISTINCT node_id
FROM webhook_event
WHERE told_once IS NULL
    OR state <> 'superseded'
LIMIT :limit;

-- name: move_events
INSERT INTO subscription_delivery (
    subscription_id, event_id, number, type, body, created, state, due, attempts,
    overtakable, once
)
SELECT
    node_id, id, CASE WHEN test = 1 THEN 0 ELSE -1 END, type, body, created, state, due,
    attempts, overtakable, node_id || ' ' || told_once
FROM webhook_event
WHERE node_id = :node_id
    AND (told_once IS NULL OR state <> 'superseded')
ORDER BY position;

-- name: move_attempts
INSERT INTO subscription_attempt (delivery, number, at, took, status, excerpt, error)
SELECT
    subscription_delivery.position, webhook_attempt.number, webhook_attempt.at,
    webhook_attempt.took, webhook_attempt.status, webhook_attempt.excerpt,
    webhook_attempt.error
FROM webhook_event
JOIN webhook_attempt ON webhook_attempt.event_id = webhook_event.id
JOIN subscription_delivery
    ON subscription_delivery.subscription_id = webhook_event.node_id
    AND subscription_delivery.event_id = webhook_event.id
WHERE webhook_event.node_id = :node_id
    AND (webhook_event.told_once IS NULL OR webhook_event.state <> 'superseded');

-- name: keep_updates
UPDATE webhook_event
SET state = 'superseded'
WHERE node_id = :node_id
    AND told_once IS NOT NULL;

-- name: delete
DELETE FROM webhook_event
WHERE node_id = :node_id
    AND told_once IS NULL;
