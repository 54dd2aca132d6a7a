-- Quotas: exceptions for single organizations, and the usage that counts.

-- name: set
INSERT INTO organization_quota (organization_id, name, most)
VALUES (:organization_id, :name, :most)
ON CONFLICT (organization_id, name) DO UPDATE
SET most = excluded.most;

-- name: reset
DELETE FROM organization_quota
WHERE organization_id = :organization_id
    AND name = :name;

-- name: exceptions
SELECT name, most
FROM organization_quota
WHERE organization_id = :organization_id;

-- name: nodes
-- A deleted node counts as a node until its lnd has ended; its data is kept for longer.
SELECT
    coalesce(sum(CASE WHEN wanted <> 'deleted' OR process <> '' THEN 1 ELSE 0 END), 0),
    count(*),
    min(CASE WHEN wanted = 'deleted' AND process = '' THEN due END)
FROM node
WHERE organization_id = :organization_id
    AND slot IS NOT NULL;

-- name: unpaid
-- Orders over LSPS1 have separate limits.
SELECT count(*)
FROM channel_order
WHERE organization_id = :organization_id
    AND status = 'waiting_payment'
    AND NOT EXISTS (
        SELECT 1
        FROM lsps1_order
        WHERE lsps1_order.order_id = channel_order.id
    );

-- name: given_up
SELECT count(*), min(created)
FROM channel_order
WHERE organization_id = :organization_id
    AND created > :since
    AND status = 'cancelled'
    AND paid_at IS NULL
    AND payment_hash IS NOT NULL;

-- name: slots
SELECT count(*)
FROM order_place
WHERE organization_id = :organization_id
    AND order_id <> :but
    AND until > :now;

-- name: reserve_slot
INSERT INTO order_place (order_id, organization_id, until)
VALUES (:order_id, :organization_id, :until)
ON CONFLICT (order_id) DO UPDATE
SET until = excluded.until;

-- name: release_slot
DELETE FROM order_place
WHERE order_id = :order_id
RETURNING order_id;

-- name: delete_slots
-- Places that were left when a process died.
DELETE FROM order_place
WHERE organization_id = :organization_id
    AND until <= :now;

-- name: members
SELECT count(*)
FROM membership
WHERE organization_id = :organization_id;

-- name: macaroons
SELECT count(*)
FROM node_macaroon
WHERE node_id = :node_id;

-- name: max_macaroons
-- Of the node that has the most.
SELECT coalesce(max(kept), 0)
FROM (
    SELECT count(*) AS kept
    FROM node_macaroon
    JOIN node ON node.id = node_macaroon.node_id
    WHERE node.organization_id = :organization_id
    GROUP BY node_macaroon.node_id
) AS of_each;

-- name: replaced
-- The size of the history of replaced backups.
SELECT coalesce(sum(length(replaced_backup.sealed)), 0)
FROM replaced_backup
JOIN node ON node.id = replaced_backup.node_id
WHERE node.organization_id = :organization_id;

-- name: answers
-- Counts up to `limit`: larger numbers are not needed.
SELECT count(*)
FROM (
    SELECT key
    FROM saved_answer
    WHERE organization_id = :organization_id
        AND expires > :now
    LIMIT :limit
) AS kept;

-- name: first_answer
SELECT min(expires)
FROM saved_answer
WHERE organization_id = :organization_id
    AND expires > :now;
