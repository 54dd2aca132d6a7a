-- Backups stored by owners, and lnd's own channel backups.

-- name: add_seed
-- Returns nothing if the node already has a seed: a seed is never overwritten.
INSERT INTO node_seed (node_id, created, sealed)
VALUES (:node_id, :created, :sealed)
ON CONFLICT DO NOTHING
RETURNING node_id;

-- name: get_seed
SELECT sealed
FROM node_seed
WHERE node_id = :node_id;

-- name: replace_seed
-- Only if the stored value is still the one that was read.
UPDATE node_seed
SET sealed = :sealed
WHERE node_id = :node_id
    AND sealed = :was
RETURNING node_id;

-- name: delete_seed
DELETE FROM node_seed
WHERE node_id = :node_id;

-- name: add_macaroon
-- Returns nothing if the node already has a macaroon of this name.
INSERT INTO node_macaroon (node_id, name, created, sealed)
VALUES (:node_id, :name, :created, :sealed)
ON CONFLICT DO NOTHING
RETURNING name;

-- name: get_macaroon
SELECT sealed
FROM node_macaroon
WHERE node_id = :node_id
    AND name = :name;

-- name: list_macaroons
SELECT name, created
FROM node_macaroon
WHERE node_id = :node_id
ORDER BY created, name;

-- name: replace_macaroon
-- Only if the stored value is still the one that was read.
UPDATE node_macaroon
SET sealed = :sealed
WHERE node_id = :node_id
    AND name = :name
    AND sealed = :was
RETURNING name;

-- name: delete_macaroons
DELETE FROM node_macaroon
WHERE node_id = :node_id;

-- name: forget_older_channels
-- This backup, unless it is the latest one.
DELETE FROM node_channel_backup
WHERE node_id = :node_id
    AND digest = :digest
    AND id < (
        SELECT MAX(id)
        FROM node_channel_backup
        WHERE node_id = :node_id
    );

-- name: add_channels
-- Returns nothing if this backup is already stored.
INSERT INTO node_channel_backup (node_id, taken, digest, content)
VALUES (:node_id, :taken, :digest, :content)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: latest_channels
SELECT taken, digest, content
FROM node_channel_backup
WHERE node_id = :node_id
ORDER BY id DESC
LIMIT 1;

-- name: newest_channels
-- The newest ones of all nodes.
SELECT id, taken
FROM node_channel_backup
ORDER BY id DESC
LIMIT :limit;

-- name: latest_of_all
SELECT node_id, content
FROM node_channel_backup
WHERE id IN (
        SELECT MAX(id)
        FROM node_channel_backup
        GROUP BY node_id
    )
ORDER BY node_id;

-- name: delete_old_channels
-- Keeps the latest `limit`.
DELETE FROM node_channel_backup
WHERE node_id = :node_id
    AND id <= (
        SELECT id
        FROM node_channel_backup
        WHERE node_id = :node_id
        ORDER BY id DESC
        LIMIT 1 OFFSET :limit
    );

-- name: delete_channels
DELETE FROM node_channel_backup
WHERE node_id = :node_id;
