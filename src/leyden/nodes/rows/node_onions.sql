-- Onion services of nodes: their sealed keys, and the targets set in Tor.

-- name: add
INSERT INTO node_onion (node_id, seed, told)
VALUES (:node_id, :seed, '');

-- name: seed
SELECT seed
FROM node_onion
WHERE node_id = :node_id;

-- name: targets
SELECT node_id, told
FROM node_onion;

-- name: set_target
UPDATE node_onion
SET told = :told
WHERE node_id = :node_id;

-- name: ours
-- Hosts that a node has or had, even if all its other data is deleted.
SELECT onion
FROM node
WHERE onion IN (:hosts);

-- name: delete
DELETE FROM node_onion
WHERE node_id = :node_id;
