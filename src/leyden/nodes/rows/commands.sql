-- Owners' commands to their nodes.

-- name: add
INSERT INTO node_command (node_id, action, at, actor)
VALUES (:node_id, :action, :at, :actor);

-- name: list
SELECT action, at
FROM node_command
WHERE node_id = :node_id
ORDER BY id DESC
LIMIT :limit;

-- name: delete_old
-- Keeps the latest `limit`.
DELETE FROM node_command
WHERE node_id = :node_id
    AND id <= (
        SELECT id
        FROM node_command
        WHERE node_id = :node_id
        ORDER BY id DESC
        LIMIT 1 OFFSET :limit
    );
