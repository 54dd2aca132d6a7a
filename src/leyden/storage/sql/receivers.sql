-- Receivers of webhooks; most have no row of their own.

-- name: get
-- Everything that a delivery needs, in one query.
SELECT
    node.organization_id,
    node.api_endpoint,
    node.settings,
    node_outfit.webhook_secret,
    webhook_receiver.sealed_old_secret,
    webhook_receiver.old_secret_until,
    webhook_receiver.failing_since,
    webhook_receiver.pause
FROM node
JOIN node_outfit ON node_outfit.node_id = node.id
LEFT JOIN webhook_receiver ON webhook_receiver.node_id = node.id
WHERE node.id = :node_id;

-- name: set_health
INSERT INTO webhook_receiver (node_id, failing_since, pause)
VALUES (:node_id, :failing_since, :pause)
ON CONFLICT (node_id) DO UPDATE
SET failing_since = excluded.failing_since, pause = excluded.pause;

-- name: keep_old_secret
INSERT INTO webhook_receiver (node_id, sealed_old_secret, old_secret_until)
VALUES (:node_id, :sealed_old_secret, :old_secret_until)
ON CONFLICT (node_id) DO UPDATE
SET sealed_old_secret = excluded.sealed_old_secret,
    old_secret_until = excluded.old_secret_until;

-- name: delete
DELETE FROM webhook_receiver
WHERE node_id = :node_id;
