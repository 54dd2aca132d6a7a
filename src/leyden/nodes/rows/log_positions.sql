-- The positions up to which nodes' logs were read.

-- name: all
SELECT *
FROM node_log_place;

-- name: get
SELECT *
FROM node_log_place
WHERE node_id = :node_id;

-- name: add
-- Returns nothing if there is one: a faster process has announced the findings.
INSERT INTO node_log_place (node_id, inode, byte, head, rotated, edition)
VALUES (:node_id, :inode, :byte, :head, :rotated, 1)
ON CONFLICT DO NOTHING
RETURNING node_id;

-- name: move
-- Only if the position has not changed since it was read.
UPDATE node_log_place
SET inode = :inode,
    byte = :byte,
    head = :head,
    rotated = :rotated,
    edition = edition + 1
WHERE node_id = :node_id
    AND edition = :was
RETURNING node_id;

-- name: delete
DELETE FROM node_log_place
WHERE node_id = :node_id;
