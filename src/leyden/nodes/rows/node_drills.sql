-- Owners' tests of their nodes' backups.

-- name: keep
INSERT INTO node_drill (node_id, at, message, signature)
VALUES (:node_id, :at, :message, :signature)
ON CONFLICT (node_id) DO UPDATE
SET at = excluded.at,
    message = excluded.message,
    signature = excluded.signature;

-- name: find
SELECT at, message, signature
FROM node_drill
WHERE node_id = :node_id;

-- name: delete
DELETE FROM node_drill
WHERE node_id = :node_id;

-- name: remind
INSERT INTO node_drill_reminder (node_id, at)
VALUES (:node_id, :at)
ON CONFLICT (node_id) DO UPDATE
SET at = excluded.at;

-- name: reminded
SELECT at
FROM node_drill_reminder
WHERE node_id = :node_id;

-- name: since
-- Nodes with a drill or a reminder at this time or later.
SELECT node_id
FROM node_drill
WHERE at >= :since
UNION
SELECT node_id
FROM node_drill_reminder
WHERE at >= :since;

-- name: delete_reminder
DELETE FROM node_drill_reminder
WHERE node_id = :node_id;
