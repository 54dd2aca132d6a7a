-- How far nodes' logs were read.

-- name: all
SELECT *
FROM node_log_place;

-- name: get
SELECT *
FROM node_log_place
WHERE node_id = :node_id;

-- name: add
-- Returns nothing where there is one: who was faster has told what there is to tell.
INSERT INTO node_log_place (node_id, inode, byte, head, rotated, edition)
VALUES (:node_id, :inode, :byte, :head, :rotated, 1)
ON CONFLICT DO NOTHING
RETURNING node_id;

-- name: move
-- Only from the place that one has read on from.
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
