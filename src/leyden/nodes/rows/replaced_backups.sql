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

-- name: page
-- The newest before one; what is sorted are only the ids.
SELECT id, name, at, sealed
FROM replaced_backup
WHERE id IN (
    SELECT id
    FROM replaced_backup
    WHERE node_id = :node_id
        AND id < :before
    ORDER BY id DESC
    LIMIT :limit
)
ORDER BY id DESC;

-- name: delete
DELETE FROM replaced_backup
WHERE node_id = :node_id;

-- name: delete_old
DELETE FROM replaced_backup
WHERE at < :until;
