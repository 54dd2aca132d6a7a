-- The channels of orders, and what each cost.

-- name: add
INSERT INTO lease (
    order_id, at, channel_point, premium, execution_fee, chain_fee, self_chan_balance,
    node, peer, height
)
VALUES (
    :order_id, :at, :channel_point, :premium, :execution_fee, :chain_fee,
    :self_chan_balance, :node, :peer, :height
);

-- name: of_orders
SELECT
    order_id,
    channel_point,
    premium,
    execution_fee,
    chain_fee,
    self_chan_balance,
    node,
    peer,
    height,
    extended,
    auto_blocks,
    auto_most,
    at
FROM lease
WHERE order_id IN (:order_ids);

-- name: running
-- The orders of direct channels that were not found closed.
SELECT lease.order_id
FROM lease
JOIN channel_order ON channel_order.id = lease.order_id
WHERE channel_order.node_key IS NOT NULL
    AND channel_order.status = 'filled'
    AND lease.closed IS NULL
    AND lease.order_id > :after
ORDER BY lease.order_id
LIMIT :limit;

-- name: running_of
-- The same channels, of some orders.
SELECT
    lease.order_id,
    channel_order.organization_id,
    lease.channel_point,
    lease.height + channel_order.lease_duration_blocks + lease.extended,
    lease.told,
    lease.peer,
    channel_order.capacity,
    lease.extended,
    lease.auto_blocks,
    lease.auto_most,
    lease.auto_refused
FROM lease
JOIN channel_order ON channel_order.id = lease.order_id
WHERE channel_order.node_key IS NOT NULL
    AND channel_order.status = 'filled'
    AND lease.closed IS NULL
    AND lease.order_id IN (:order_ids)
ORDER BY lease.order_id;

-- name: running_to
-- The orders of a node whose channels were not found closed.
SELECT lease.order_id
FROM lease
JOIN channel_order ON channel_order.id = lease.order_id
WHERE channel_order.node_key = :node_key
    AND channel_order.status = 'filled'
    AND lease.closed IS NULL
ORDER BY lease.order_id
LIMIT :limit;

-- name: of_organization
-- Channels that an organization bought, the newest first; an end of 0 is unknown.
SELECT
    lease.order_id,
    lease.channel_point,
    CASE
        WHEN lease.height = 0 THEN 0
        ELSE lease.height + channel_order.lease_duration_blocks + lease.extended
    END
FROM lease
JOIN channel_order ON channel_order.id = lease.order_id
WHERE channel_order.organization_id = :organization_id
    AND lease.closed IS NULL
ORDER BY lease.at DESC
LIMIT :limit;

-- name: change
-- If no other process changed it first.
UPDATE lease
SET closed = :closed,
    closed_early = :closed_early,
    told = :told,
    extended = :extended,
    auto_blocks = :auto_blocks,
    auto_most = :auto_most,
    auto_refused = :auto_refused
WHERE order_id = :order_id
    AND closed IS NULL
    AND told = :was_told
    AND extended = :was_extended
    AND auto_blocks = :was_auto_blocks
    AND auto_most = :was_auto_most
    AND auto_refused = :was_auto_refused
RETURNING order_id;

-- name: extended
SELECT order_id, extended
FROM lease
WHERE extended > 0;

-- name: closed_early
SELECT order_id
FROM lease
WHERE closed_early = 1
    AND closed > :since
ORDER BY order_id
LIMIT :limit;
