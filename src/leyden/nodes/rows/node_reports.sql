-- The last reports of companions of nodes in a cluster.

-- name: keep
INSERT INTO node_report (node_id, run, macaroons_removed, disk, height, at)
VALUES (:node_id, :run, :macaroons_removed, :disk, :height, :at)
ON CONFLICT (node_id) DO UPDATE
SET run = excluded.run,
    macaroons_removed = excluded.macaroons_removed,
    disk = excluded.disk,
    height = excluded.height,
    at = excluded.at;

-- name: get
SELECT node_id, run, macaroons_removed, disk, height, at
FROM node_report
WHERE node_id = :node_id;

-- name: heights
SELECT node_id, height
FROM node_report;

-- name: keep_log_tail
UPDATE node_report
SET log_tail = :log_tail
WHERE node_id = :node_id;

-- name: log_tail
SELECT log_tail
FROM node_report
WHERE node_id = :node_id;

-- name: delete
DELETE FROM node_report
WHERE node_id = :node_id;
