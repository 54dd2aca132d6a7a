-- The replicas that run on this database, of this version and the previous one.

-- name: enter
INSERT INTO replica (id, newest, until)
VALUES (:id, :newest, :until);

-- name: heartbeat
UPDATE replica
SET until = :until
WHERE id = :id;

-- name: leave
DELETE FROM replica
WHERE id = :id;

-- name: delete_old
DELETE FROM replica
WHERE until < :before;

-- name: floor
SELECT oldest
FROM schema_floor;

-- name: lock_floor
SELECT oldest
FROM schema_floor
/* FOR UPDATE */;

-- name: raise_floor
UPDATE schema_floor
SET oldest = :oldest;

-- name: older
-- A process without a replica is of a version from before replicas were counted.
SELECT id
FROM replica
WHERE until > :now
    AND newest < :migration
UNION ALL
SELECT id
FROM process
WHERE until > :now
    AND id NOT IN (SELECT id FROM replica)
LIMIT 1;
