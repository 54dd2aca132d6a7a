-- The number of nodes' last starts, and the folders they used.

-- name: get
SELECT number, copy
FROM node_start
WHERE node_id = :node_id;

-- name: save
INSERT INTO node_start (node_id, number, copy)
VALUES (:node_id, :number, :copy)
ON CONFLICT (node_id) DO UPDATE
SET number = excluded.number,
    copy = excluded.copy;

-- name: accept
UPDATE node_start
SET copy = ''
WHERE node_id = :node_id
RETURNING node_id;

-- name: accept_all
UPDATE node_start
SET copy = '';

-- name: delete
DELETE FROM node_start
WHERE node_id = :node_id;
