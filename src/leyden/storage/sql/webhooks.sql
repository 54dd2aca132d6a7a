-- Webhook events. States are literals, so that the partial indexes on pending events are
-- used for these statements.

-- name: add
-- Returns nothing if this event may be sent only once, and was.
INSERT INTO webhook_event (
    id, node_id, type, body, told_once, test, created, state, due, overtakable,
    attempts
)
VALUES (
    :id, :node_id, :type, :body, :told_once, :test, :created, :state, :due, 0, 0
)
ON CONFLICT (node_id, told_once) WHERE told_once IS NOT NULL DO NOTHING
RETURNING position;

-- name: get
SELECT position, webhook_event.*
FROM webhook_event
WHERE node_id = :node_id
    AND id = :id;

-- name: page
-- Newest first, before a position.
SELECT position, webhook_event.*
FROM webhook_event
WHERE node_id = :node_id
    AND position < :before
ORDER BY position DESC
LIMIT :most;

-- name: pending
-- In the order in which they happened.
SELECT position, webhook_event.*
FROM webhook_event
WHERE node_id = :node_id
    AND state = 'pending'
ORDER BY position
LIMIT :most;

-- name: supersede_status
UPDATE webhook_event
SET state = 'superseded'
WHERE node_id = :node_id
    AND state = 'pending'
    AND type = 'status';

-- name: make_due
UPDATE webhook_event
SET due = :now
WHERE node_id = :node_id
    AND state = 'pending'
    AND due > :now;

-- name: give_up
UPDATE webhook_event
SET state = 'failed'
WHERE node_id = :node_id
    AND state = 'pending'
    AND created < :before;

-- name: give_all_up
UPDATE webhook_event
SET state = 'failed'
WHERE node_id = :node_id
    AND state = 'pending';

-- name: last_error
SELECT created
FROM webhook_event
WHERE node_id = :node_id
    AND type = 'error'
ORDER BY position DESC
LIMIT 1;

-- name: without_task
-- Nodes with pending events, an active receiver, and no task that sends them.
SELECT DISTINCT node_id
FROM webhook_event
WHERE state = 'pending'
    AND NOT EXISTS (
        SELECT 1
        FROM task
        WHERE task.kind = :kind
            AND task.key = webhook_event.node_id
    )
    AND NOT EXISTS (
        SELECT 1
        FROM webhook_receiver
        WHERE webhook_receiver.node_id = webhook_event.node_id
            AND webhook_receiver.pause IS NOT NULL
    );

-- name: delete
DELETE FROM webhook_event
WHERE node_id = :node_id;
