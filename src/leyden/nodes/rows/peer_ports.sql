-- The ports at which peers reach nodes.

-- name: find
SELECT id
FROM node
WHERE peer_port = :port;

-- name: all_
SELECT peer_port
FROM node
WHERE peer_port IS NOT NULL;

-- name: count
SELECT count(*)
FROM node
WHERE peer_port IS NOT NULL
    AND (peer_port_released IS NULL OR peer_port_released > :since);

-- name: of_deleted
SELECT peer_port
FROM node
WHERE organization_id = :organization_id
    AND wanted = 'deleted'
    AND peer_port_released IS NOT NULL
ORDER BY peer_port_released, peer_port;

-- name: released
SELECT peer_port
FROM node
WHERE peer_port_released <= :until
ORDER BY peer_port_released, peer_port;

-- name: take_over
-- A node that has turned off `listen` keeps its port even from other nodes of its
-- organization, until anybody can have it.
UPDATE node
SET peer_port = NULL,
    peer_port_released = NULL,
    edition = edition + 1
WHERE peer_port = :port
    AND peer_port_released IS NOT NULL
    AND (
        (organization_id = :organization_id AND wanted = 'deleted')
        OR peer_port_released <= :until
    )
RETURNING id;
