-- Orders.

-- name: add
-- Returns nothing where there is an order of this id already.
INSERT INTO channel_order (
    id, organization_id, status, created, expires, capacity, self_chan_balance,
    lease_duration_blocks, node_tier, bps, rate_bps, rate_fixed, service_fee, pool_fee,
    self_chan_balance_fee, credit_used, charged, credit_refund, paid_at,
    onchain_address, lightning_invoice, payment_hash, invoice_state, accepted, offered,
    ticket_ref, sealed_ticket, order_nonce, keeps_unused_fee, node_key, node_host,
    node_id, channel_point, announce, htlc_expires, zero_conf
)
VALUES (
    :id, :organization_id, :status, :created, :expires, :capacity, :self_chan_balance,
    :lease_duration_blocks, :node_tier, :bps, :rate_bps, :rate_fixed, :service_fee,
    :pool_fee, :self_chan_balance_fee, :credit_used, :charged, :credit_refund, :paid_at,
    :onchain_address, :lightning_invoice, :payment_hash, :invoice_state, :accepted,
    :offered, :ticket_ref, :sealed_ticket, :order_nonce, :keeps_unused_fee, :node_key,
    :node_host, :node_id, :channel_point, :announce, :htlc_expires, :zero_conf
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: save
-- What may change, if the order still stands where it was read.
UPDATE channel_order
SET status = :status,
    credit_refund = :credit_refund,
    paid_at = :paid_at,
    invoice_state = :invoice_state,
    accepted = :accepted,
    offered = :offered,
    ticket_ref = :ticket_ref,
    sealed_ticket = :sealed_ticket,
    order_nonce = :order_nonce,
    channel_point = :channel_point,
    htlc_expires = :htlc_expires
WHERE id = :id
    AND status = :was;

-- name: get
SELECT *
FROM channel_order
WHERE id = :id;

-- name: get_many
SELECT *
FROM channel_order
WHERE id IN (:ids);

-- name: lock_many
-- Always in the order of their ids, so that no two wait for each other.
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
-- Newest first, from before a place on.
SELECT *
FROM channel_order
WHERE organization_id = :organization_id
    AND (created, id) < (:created, :id)
ORDER BY created DESC, id DESC
LIMIT :most;

-- name: all
SELECT *
FROM channel_order
WHERE id > :after
ORDER BY id
LIMIT :most;

-- name: ticketed_since
-- With a ticket that nobody has registered.
SELECT *
FROM channel_order
WHERE status = 'created'
    AND paid_at > :since
    AND node_key IS NULL
ORDER BY id
LIMIT :most;

-- name: created_take
-- What tickets that nobody has registered may take from our Pool account.
SELECT coalesce(sum(pool_fee + self_chan_balance), 0)
FROM channel_order
WHERE status = 'created'
    AND node_key IS NULL;

-- name: creating_take
-- What tickets still to be made may take, for orders that were paid before this one.
SELECT coalesce(sum(pool_fee + self_chan_balance), 0)
FROM channel_order
WHERE status = 'creating'
    AND node_key IS NULL
    AND (paid_at, id) < (:paid_at, :id);

-- Direct channels.

-- name: capacity_ordered_since
-- Capacity that was ordered since then, and not given up.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE node_key IS NOT NULL
    AND created > :since
    AND status IN ('waiting_payment', 'creating', 'created', 'submitted', 'filled');

-- name: capacity_asked_since
-- Capacity of orders paid since then for which the seller was asked.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE node_key IS NOT NULL
    AND paid_at > :since
    AND status IN ('submitted', 'filled');

-- name: capacity_ordered_to
-- Capacity that a node has from us, or is to have.
SELECT coalesce(sum(capacity), 0)
FROM channel_order
WHERE node_key = :node_key
    AND status IN ('waiting_payment', 'creating', 'created', 'submitted', 'filled')
    AND NOT EXISTS (
        SELECT 1
        FROM lease
        WHERE lease.order_id = channel_order.id
            AND lease.closed IS NOT NULL
    );

-- name: open_to
-- Orders for a node that have not ended: an organization's unpaid ones, and any paid.
SELECT id
FROM channel_order
WHERE node_key = :node_key
    AND id <> :id
    AND (
        status IN ('creating', 'created', 'submitted')
        OR (status = 'waiting_payment' AND organization_id = :organization_id)
    );

-- name: is_opening_to
-- The order for which the seller is opening a channel to a node, but for this one.
SELECT id
FROM channel_order
WHERE node_key = :node_key
    AND status = 'submitted'
    AND id <> :id;

-- name: key_of_node
-- The public key under which a hosted node got its last channel.
SELECT node_key
FROM channel_order
WHERE organization_id = :organization_id
    AND node_id = :node_id
    AND node_key IS NOT NULL
    AND status = 'filled'
ORDER BY created DESC
LIMIT 1;

-- In a status. Each status is spelled out, because only so is the index on just the
-- orders in it used: neither database can tell that a parameter will be that word.

-- name: in_waiting_payment
SELECT *
FROM channel_order
WHERE status = 'waiting_payment'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_expired
SELECT *
FROM channel_order
WHERE status = 'expired'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_creating
SELECT *
FROM channel_order
WHERE status = 'creating'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_created
SELECT *
FROM channel_order
WHERE status = 'created'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_submitted
SELECT *
FROM channel_order
WHERE status = 'submitted'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_filled
SELECT *
FROM channel_order
WHERE status = 'filled'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_failed
SELECT *
FROM channel_order
WHERE status = 'failed'
    AND id > :after
ORDER BY id
LIMIT :most;

-- name: in_cancelled
SELECT *
FROM channel_order
WHERE status = 'cancelled'
    AND id > :after
ORDER BY id
LIMIT :most;

-- How orders can be paid. As above, without what nobody asks who looks for payments.

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
LIMIT :most;

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
LIMIT :most;

-- name: payable_direct
-- Held payments of direct orders whose channel is not there yet.
SELECT
    id,
    service_fee + pool_fee + self_chan_balance_fee - credit_used - charged,
    onchain_address,
    lightning_invoice,
    payment_hash
FROM channel_order
WHERE node_key IS NOT NULL
    AND status IN ('created', 'submitted')
    AND id > :after
    AND payment_hash IS NOT NULL
ORDER BY id
LIMIT :most;
