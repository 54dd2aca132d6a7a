-- Orders. Their columns are in `order_rows.py`, and the statements that write them in
-- `orders.py`.

-- name: get
SELECT *
FROM channel_order
WHERE id = :id;

-- name: get_many
SELECT *
FROM channel_order
WHERE id IN (:ids);

-- name: lock_many
-- Always in the order of their ids, so that there are no deadlocks.
SELECT *
FROM channel_order
WHERE id IN (:ids)
ORDER BY id
/* FOR UPDATE */;

-- name: paid_to
SELECT *
FROM channel_order
WHERE onchain_address IN (:addresses);

-- name: invoiced
SELECT payment_hash, id, invoice_state
FROM channel_order
WHERE payment_hash IN (:hashes);

-- name: page
-- Newest first, before a position. An empty id stands for all nodes.
SELECT *
FROM channel_order
WHERE organization_id = :organization_id
    AND (created, id) < (:created, :id)
    AND created >= :since
    AND created < :until
    AND status IN (:statuses)
    AND :node_id IN ('', node_id)
ORDER BY created DESC, id DESC
LIMIT :limit;

-- name: newest
-- Of all organizations.
SELECT *
FROM channel_order
ORDER BY created DESC, id DESC
LIMIT :limit;

-- name: all
SELECT *
FROM channel_order
WHERE id > :after
ORDER BY id
LIMIT :limit;

-- name: ticketed_since
-- With a ticket that is not registered.
SELECT *
FROM channel_order
WHERE status = 'created'
    AND paid_at > :since
    AND node_key IS NULL
ORDER BY id
LIMIT :limit;

-- name: created_take
-- What unregistered tickets may take from our Pool account.
SELECT coalesce(sum(pool_fee + self_chan_balance), 0)
FROM channel_order
WHERE status = 'created'
    AND node_key IS NULL;

-- name: creating_take
-- What tickets that are not created yet may take, for orders paid before this one.
SELECT coalesce(sum(pool_fee + self_chan_balance), 0)
FROM channel_order
WHERE status = 'creating'
    AND node_key IS NULL
    AND (paid_at, id) < (:paid_at, :id);

-- Direct channels.

-- name: capacity_ordered_since
-- Capacity ordered since then by other orders, without those that ended without a
-- channel, and those that hold no coins until they are paid.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE node_key IS NOT NULL
    AND source = ''
    AND created > :since
    AND id <> :id
    AND (
        status IN ('creating', 'created', 'submitted', 'filled')
        OR (
            status = 'waiting_payment'
            AND EXISTS (
                SELECT 1
                FROM reserved_coin
                WHERE reserved_coin.order_id = channel_order.id
            )
        )
    );

-- name: capacity_held_unpaid
-- Capacity of an organization's unpaid orders that hold coins.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE organization_id = :organization_id
    AND status = 'waiting_payment'
    AND EXISTS (
        SELECT 1
        FROM reserved_coin
        WHERE reserved_coin.order_id = channel_order.id
    );

-- name: capacity_asked_since
-- Capacity of orders paid since then for which an opening was requested.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE node_key IS NOT NULL
    AND source = ''
    AND paid_at > :since
    AND status IN ('submitted', 'filled');

-- name: capacity_ordered_to
-- Capacity that a node has or will get from us, without an order.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE node_key = :node_key
    AND source = ''
    AND id <> :id
    AND status IN ('waiting_payment', 'creating', 'created', 'submitted', 'filled')
    AND NOT EXISTS (
        SELECT 1
        FROM lease
        WHERE lease.order_id = channel_order.id
            AND lease.closed IS NOT NULL
    );

-- name: open_to
-- Open orders for a node: unpaid ones of an organization, and paid ones of any.
SELECT id
FROM channel_order
WHERE node_key = :node_key
    AND id <> :id
    AND (
        status IN ('creating', 'created', 'submitted')
        OR (status = 'waiting_payment' AND organization_id = :organization_id)
    );

-- name: is_opening_to
-- Another order for which the seller is opening a channel to a node.
SELECT id
FROM channel_order
WHERE node_key = :node_key
    AND status = 'submitted'
    AND id <> :id;

-- name: key_of_node
-- The public key with which a hosted node got its last channel.
SELECT node_key
FROM channel_order
WHERE organization_id = :organization_id
    AND node_id = :node_id
    AND node_key IS NOT NULL
    AND status = 'filled'
ORDER BY created DESC
LIMIT 1;

-- For operators, the longest waiting first, or the newest. SQLite finds them by their
-- status, as they are few: not by `+paid_at`, as most orders were paid before, nor, with
-- CROSS JOIN, by all moves.

-- name: overdue_tickets
SELECT *
FROM channel_order
WHERE status = 'creating'
    AND paid_at < :before
ORDER BY node_key IS NOT NULL, paid_at, id
LIMIT :limit;

-- name: overdue_openings
SELECT *
FROM channel_order
WHERE status = 'submitted'
    AND node_key IS NOT NULL
    AND +paid_at < :before
ORDER BY channel_point = '', +paid_at, id
LIMIT :limit;

-- name: failed
-- With a channel that was signed; the others only if they failed since then.
SELECT channel_order.*
FROM channel_order
CROSS JOIN order_move
WHERE channel_order.status = 'failed'
    AND order_move.order_id = channel_order.id
    AND order_move.after = 'failed'
    AND (channel_order.channel_point <> '' OR order_move.at > :since)
ORDER BY channel_order.channel_point = '', order_move.at DESC, order_move.id DESC
LIMIT :limit;

-- By status. Each status is a literal, so that the partial index on its orders is used:
-- neither database knows the value of a parameter when it plans.

-- name: in_waiting_payment
SELECT *
FROM channel_order
WHERE status = 'waiting_payment'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_expired
SELECT *
FROM channel_order
WHERE status = 'expired'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_creating
SELECT *
FROM channel_order
WHERE status = 'creating'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_created
SELECT *
FROM channel_order
WHERE status = 'created'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_submitted
SELECT *
FROM channel_order
WHERE status = 'submitted'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_filled
SELECT *
FROM channel_order
WHERE status = 'filled'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_failed
SELECT *
FROM channel_order
WHERE status = 'failed'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: in_cancelled
SELECT *
FROM channel_order
WHERE status = 'cancelled'
    AND id > :after
ORDER BY id
LIMIT :limit;

-- Payment requests of orders: as above, with only the columns for looking up payments.

-- name: payable_waiting_payment
SELECT
    id,
    service_fee + pool_fee + self_chan_balance_fee - credit_used - charged,
    onchain_address,
    lightning_invoice,
    payment_hash
FROM channel_order
WHERE status = 'waiting_payment'
    AND id > :after
    AND payment_hash IS NOT NULL
ORDER BY id
LIMIT :limit;

-- name: payable_creating
SELECT
    id,
    service_fee + pool_fee + self_chan_balance_fee - credit_used - charged,
    onchain_address,
    lightning_invoice,
    payment_hash
FROM channel_order
WHERE status = 'creating'
    AND id > :after
    AND payment_hash IS NOT NULL
ORDER BY id
LIMIT :limit;

-- name: payable_direct
-- Held payments of direct orders that wait for their channel. Each status by itself, so
-- that SQLite uses the partial indexes.
SELECT
    id,
    service_fee + pool_fee + self_chan_balance_fee - credit_used - charged,
    onchain_address,
    lightning_invoice,
    payment_hash
FROM channel_order
WHERE node_key IS NOT NULL
    AND status = 'created'
    AND id > :after
    AND payment_hash IS NOT NULL
UNION ALL
SELECT
    id,
    service_fee + pool_fee + self_chan_balance_fee - credit_used - charged,
    onchain_address,
    lightning_invoice,
    payment_hash
FROM channel_order
WHERE node_key IS NOT NULL
    AND status = 'submitted'
    AND id > :after
    AND payment_hash IS NOT NULL
ORDER BY id
LIMIT :limit;
