-- Nodes. A deleted node is invisible to its owner as soon as its lnd has ended.

-- name: add
-- Returns nothing if the id, name, endpoint, slot or peer port is in use.
INSERT INTO node (
    id, organization_id, name, network, type, version, api_endpoint, slot, created,
    status, wanted, revision, process, launched, host, launched_at, crashes, due,
    purchased_type, purchase_status, expires, edition, settings,
    has_wallet, peer_port, peer_port_released, runtime, moves_to, onion, trouble, unknown
)
VALUES (
    :id, :organization_id, :name, :network, :type, :version, :api_endpoint, :slot,
    :created, :status, :wanted, :revision, :process, :launched, :host, :launched_at,
    :crashes, :due, :purchased_type, :purchase_status, :expires, :edition, :settings,
    :has_wallet, :peer_port, :peer_port_released, :runtime, :moves_to, :onion, :trouble,
    :unknown
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: get
SELECT *
FROM node
WHERE id = :id;

-- name: names
-- An organization's nodes with these ids, including deleted ones.
SELECT id, name
FROM node
WHERE organization_id = :organization_id
    AND id IN (:ids);

-- name: lock
SELECT *
FROM node
WHERE id = :id
/* FOR UPDATE */;

-- name: list
-- The columns of lists: without settings, which take longest to read.
SELECT
    id, name, status, expires, created, type, purchased_type, purchase_status,
    api_endpoint, network, version,
    CASE WHEN peer_port_released IS NULL THEN peer_port END,
    onion, trouble, unknown
FROM node
WHERE organization_id = :organization_id
    AND (wanted <> 'deleted' OR process <> '')
    AND (created, id) > (:after, :after_id)
ORDER BY created, id
LIMIT :limit;

-- name: page
-- Filtered by status and a part of the name; each may be any.
SELECT
    id, name, status, expires, created, type, purchased_type, purchase_status,
    api_endpoint, network, version,
    CASE WHEN peer_port_released IS NULL THEN peer_port END,
    onion, trouble, unknown
FROM node
WHERE organization_id = :organization_id
    AND (wanted <> 'deleted' OR process <> '')
    AND (CAST(:status AS TEXT) = '' OR status = :status)
    AND (CAST(:name AS TEXT) = '' OR lower(name) LIKE :name ESCAPE '!')
ORDER BY created, id
LIMIT :limit OFFSET :skipped;

-- name: count
SELECT count(*)
FROM node
WHERE organization_id = :organization_id
    AND (wanted <> 'deleted' OR process <> '')
    AND (CAST(:status AS TEXT) = '' OR status = :status)
    AND (CAST(:name AS TEXT) = '' OR lower(name) LIKE :name ESCAPE '!');

-- name: by_status
-- The last two columns change whenever anything changes that `list` shows.
SELECT status, count(*), CAST(sum(edition) AS BIGINT), max(created)
FROM node
WHERE organization_id = :organization_id
    AND (wanted <> 'deleted' OR process <> '')
GROUP BY status;

-- name: show
-- Everything about one node except its commands.
SELECT
    node.id,
    node.name,
    node.status,
    node.expires,
    node.created,
    node.type,
    node.purchased_type,
    node.purchase_status,
    node.api_endpoint,
    node.network,
    node.version,
    CASE WHEN node.peer_port_released IS NULL THEN node.peer_port END,
    node.onion,
    node.trouble,
    node.unknown,
    node.settings,
    node_outfit.sealed_settings,
    node_outfit.webhook_secret
FROM node
JOIN node_outfit ON node_outfit.node_id = node.id
WHERE node.id = :id
    AND node.organization_id = :organization_id
    AND (node.wanted <> 'deleted' OR node.process <> '');

-- name: stamp
-- Secrets and commands change without the node's row, so they are in the stamp: a secret
-- that is sealed again has other bytes.
SELECT
    node.id,
    node.edition,
    node_outfit.sealed_settings,
    node_outfit.webhook_secret,
    (SELECT max(id) FROM node_command WHERE node_id = node.id)
FROM node
JOIN node_outfit ON node_outfit.node_id = node.id
WHERE node.id = :id
    AND node.organization_id = :organization_id
    AND (node.wanted <> 'deleted' OR node.process <> '');

-- name: taken
SELECT name
FROM node
WHERE organization_id = :organization_id
    AND wanted <> 'deleted'
    AND name IN (:names);

-- name: find_by_name
SELECT id
FROM node
WHERE organization_id = :organization_id
    AND name = :name
    AND wanted <> 'deleted';

-- name: deleted
-- Once the removal has begun, `due` is the time of creation: nodes/restoring.py.
SELECT
    id,
    name,
    network,
    version,
    created,
    due,
    (
        SELECT max(at)
        FROM node_command
        WHERE node_id = node.id
            AND action = 'delete'
    )
FROM node
WHERE organization_id = :organization_id
    AND wanted = 'deleted'
    AND slot IS NOT NULL
    AND due > created
ORDER BY due DESC, id
LIMIT :limit;

-- name: find_by_slot
SELECT id
FROM node
WHERE slot = :slot;

-- name: all
-- Every node that still has data.
SELECT *
FROM node
WHERE slot IS NOT NULL
ORDER BY id;

-- name: find_elsewhere
-- A node that is in another runtime, or moves there.
SELECT id
FROM node
WHERE slot IS NOT NULL
    AND (runtime <> :runtime OR moves_to NOT IN ('', :runtime))
ORDER BY id
LIMIT 1;

-- name: editions
SELECT id, edition
FROM node
WHERE slot IS NOT NULL
    AND wanted <> 'deleted';

-- name: save
-- The columns that can change, if the node has not changed since it was read. Unchanged
-- settings stay as they are: a newer version may have stored some that we do not know.
UPDATE node
SET name = :name,
    version = :version,
    status = :status,
    wanted = :wanted,
    revision = :revision,
    process = :process,
    launched = :launched,
    host = :host,
    launched_at = :launched_at,
    crashes = :crashes,
    due = :due,
    purchased_type = :purchased_type,
    purchase_status = :purchase_status,
    expires = :expires,
    settings = CASE WHEN :has_new_settings = 1 THEN :settings ELSE settings END,
    has_wallet = :has_wallet,
    peer_port = :peer_port,
    peer_port_released = :peer_port_released,
    runtime = :runtime,
    moves_to = :moves_to,
    onion = :onion,
    trouble = :trouble,
    unknown = :unknown,
    edition = edition + 1
WHERE id = :id
    AND edition = :was
RETURNING id;

-- name: vacate
UPDATE node
SET slot = NULL
WHERE id = :id;
