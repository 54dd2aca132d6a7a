-- Replaced backups. The seed's name is empty.

-- name: add
INSERT INTO replaced_backup (node_id, name, at, sealed)
VALUES (:node_id, :name, :at, :sealed);

-- name: history
SELECT id, at
FROM replaced_backup
WHERE node_id = :node_id
    AND name = :name
ORDER BY id;

-- name: delete_one
DELETE FROM replaced_backup
WHERE id = :id;

-- name: list
SELECT name, at, sealed
FROM replaced_backup
WHERE node_id = :node_id
ORDER BY id DESC;

-- name: delete
DELETE FROM replaced_backup
WHERE node_id = :node_id;

-- name: delete_old
DELETE FROM replaced_backup
WHERE at < :until;
