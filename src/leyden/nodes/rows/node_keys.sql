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

-- name: of_nodes
SELECT node_id
FROM node_key
WHERE node_id IN (:node_ids);

-- name: with_keys
SELECT node_key.pubkey, node_key.node_id
FROM node_key
JOIN node ON node.id = node_key.node_id
WHERE node.organization_id = :organization_id
    AND node_key.pubkey IN (:pubkeys);
