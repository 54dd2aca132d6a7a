-- Public keys of hosted nodes.

-- name: find
SELECT pubkey
FROM node_key
WHERE node_id = :node_id;

-- name: keep
INSERT INTO node_key (node_id, pubkey)
VALUES (:node_id, :pubkey)
ON CONFLICT (node_id) DO UPDATE
SET pubkey = excluded.pubkey;

-- name: delete
DELETE FROM node_key
WHERE node_id = :node_id;
