-- Just-in-time orders, and the parts of payments that were forwarded for them.

-- name: add
INSERT INTO jit_order (
    id, purse, peer, status, created, valid_until, size_msat, fee_msat, capacity,
    payment_hash, held_at, held_height, coins, channel_point, resumed_at, funding_fee,
    earned_msat, trusts, funding_transaction
)
VALUES (
    :id, :purse, :peer, :status, :created, :valid_until, :size_msat, :fee_msat,
    :capacity, :payment_hash, :held_at, :held_height, :coins, :channel_point,
    :resumed_at, :funding_fee, :earned_msat, :trusts,
    :funding_transaction
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: get
SELECT *
FROM jit_order
WHERE id = :id;

-- name: save
-- If no other process moved it first.
UPDATE jit_order
SET
    status = :status,
    payment_hash = :payment_hash,
    held_at = :held_at,
    held_height = :held_height,
    coins = :coins,
    channel_point = :channel_point,
    resumed_at = :resumed_at,
    funding_fee = :funding_fee,
    earned_msat = :earned_msat,
    trusts = :trusts,
    funding_transaction = :funding_transaction
WHERE id = :id
    AND status = :was
RETURNING id;

-- name: in_states
SELECT *
FROM jit_order
WHERE status IN (:statuses)
    AND id > :after
ORDER BY id
LIMIT :limit;

-- name: unresolved
-- Whose channel's cost, or whose payment's end, is not known; no wrapped invoices.
SELECT *
FROM jit_order
WHERE (
        status IN ('holding', 'opening', 'opened', 'resuming', 'retracting')
        OR (
            status IN ('unpaid', 'earned')
            AND (funding_fee IS NULL OR (status = 'unpaid' AND resumed_at > :since))
        )
    )
    AND id NOT IN (SELECT order_id FROM jit_wrapped)
ORDER BY id;

-- name: lapsed
SELECT *
FROM jit_order
WHERE status = 'sold'
    AND valid_until <= :now
    AND id NOT IN (SELECT order_id FROM jit_wrapped)
ORDER BY id
LIMIT :limit;

-- name: prune
DELETE FROM jit_order
WHERE id IN (
        SELECT id
        FROM jit_order
        WHERE status = 'expired'
            AND valid_until <= :before
            AND id NOT IN (SELECT order_id FROM jit_wrapped)
        LIMIT :limit
    )
RETURNING id;

-- name: sold
-- Orders of another lnd than the present one wait until that is back.
SELECT count(*)
FROM jit_order
WHERE purse = :purse
    AND status = 'sold';

-- name: sold_to
SELECT count(*)
FROM jit_order
WHERE purse = :purse
    AND peer = :peer
    AND status IN ('sold', 'holding', 'opening', 'opened');

-- name: unpaid
-- Also those whose node claimed only some parts of its payment: the fee is in the others.
SELECT *
FROM jit_order
WHERE status = 'unpaid'
    OR (status = 'earned' AND earned_msat < fee_msat)
ORDER BY held_at, id;

-- name: unpaid_by
SELECT count(*)
FROM jit_order
WHERE peer = :peer
    AND (status = 'unpaid' OR (status = 'earned' AND earned_msat < fee_msat))
    AND held_at > :since;

-- name: earned_from
SELECT count(*)
FROM jit_order
WHERE peer = :peer
    AND status = 'earned'
    AND earned_msat >= fee_msat;

-- name: under_way_to
SELECT count(*)
FROM jit_order
WHERE purse = :purse
    AND peer = :peer
    AND status IN ('opening', 'opened', 'resuming', 'retracting');

-- name: nobody_took
SELECT coalesce(sum(capacity), 0)
FROM jit_order
WHERE held_at > :since
    AND (
        status = 'unpaid'
        OR (status = 'resuming' AND resumed_at <= :before)
        OR (status = 'earned' AND earned_msat < fee_msat)
    );

-- name: sums
SELECT
    status,
    count(*),
    coalesce(sum(capacity), 0),
    coalesce(sum(earned_msat), 0),
    coalesce(sum(funding_fee), 0)
FROM jit_order
GROUP BY status
ORDER BY status;

-- name: opened_since
SELECT coalesce(sum(capacity), 0)
FROM jit_order
WHERE status IN (
        'opening', 'opened', 'resuming', 'earned', 'unpaid', 'retracting'
    )
    AND held_at > :since;

-- name: reserved
SELECT coins
FROM jit_order
WHERE status IN (
        'opening', 'opened', 'resuming', 'earned', 'unpaid', 'retracting'
    );

-- name: add_part
INSERT INTO jit_part (
    order_id, chan_id, htlc_id, payment_hash, amount_msat, take_msat, earned_msat
)
VALUES (
    :order_id, :chan_id, :htlc_id, :payment_hash, :amount_msat, :take_msat, :earned_msat
);

-- name: drop_parts
DELETE FROM jit_part
WHERE order_id = :order_id;

-- name: earn_part
UPDATE jit_part
SET earned_msat = :earned_msat
WHERE order_id = :order_id
    AND chan_id = :chan_id
    AND htlc_id = :htlc_id;

-- name: parts_of
SELECT *
FROM jit_part
WHERE order_id = :order_id
ORDER BY chan_id, htlc_id;
