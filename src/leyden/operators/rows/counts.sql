-- Counts of everything, for the operator.

-- name: nodes
SELECT status, count(*)
FROM node
WHERE wanted <> 'deleted'
GROUP BY status
ORDER BY status;

-- name: versions
SELECT version, count(*)
FROM node
WHERE wanted <> 'deleted'
GROUP BY version
ORDER BY version;

-- name: ailing
-- Nodes that crash, or cannot be started or observed, the worst first. A crash is over
-- once the next lnd has been running since `healthy_since`.
SELECT id, name, organization_id, status, version, crashes, due, trouble, unknown
FROM node
WHERE wanted <> 'deleted'
    AND (status = 'failed' OR crashes > 0 OR unknown <> '')
    AND (
        status <> 'running'
        OR unknown <> ''
        OR COALESCE(launched_at, 0) > :healthy_since
    )
ORDER BY crashes DESC, id
LIMIT :limit;

-- name: list_nodes
-- Nodes of all organizations, newest first. An empty filter matches every node.
SELECT id, name, organization_id, status, version, runtime, created
FROM node
WHERE wanted <> 'deleted'
    AND (CAST(:organization_id AS TEXT) = '' OR organization_id = :organization_id)
    AND (CAST(:status AS TEXT) = '' OR status = :status)
    AND (CAST(:runtime AS TEXT) = '' OR runtime = :runtime)
ORDER BY created DESC, id
LIMIT :limit;

-- name: orders
SELECT status, count(*)
FROM channel_order
GROUP BY status
ORDER BY status;

-- name: tasks
SELECT kind, count(*), min(due), max(attempts)
FROM task
WHERE due <= :until
GROUP BY kind
ORDER BY kind;

-- name: tried
-- Tasks that were started more than once and are not completed, the worst first.
SELECT kind, key, due, attempts
FROM task
WHERE attempts > 1
ORDER BY attempts DESC, kind, key
LIMIT :limit;
