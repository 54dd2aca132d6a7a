-- Invoices that just-in-time channels were sold with, and their hold invoices.

-- name: add
INSERT INTO jit_wrapped (
    order_id, payment_hash, inner_request, wrapped_request, delta, address, closed
)
VALUES (
    :order_id, :payment_hash, :inner_request, :wrapped_request, :delta, :address, 0
)
ON CONFLICT DO NOTHING
RETURNING order_id;

-- name: with_hash
SELECT *
FROM jit_wrapped
WHERE payment_hash = :payment_hash;

-- name: created
UPDATE jit_wrapped
SET wrapped_request = :wrapped_request
WHERE order_id = :order_id
    AND closed = 0;

-- name: open
SELECT *
FROM jit_wrapped
WHERE closed = 0
ORDER BY order_id;

-- name: close
UPDATE jit_wrapped
SET closed = 1
WHERE order_id = :order_id
    AND closed = 0
RETURNING order_id;

-- name: count_open
-- Those of another lnd than the present one wait until that is back.
SELECT count(*)
FROM jit_wrapped
JOIN jit_order ON jit_order.id = jit_wrapped.order_id
WHERE jit_wrapped.closed = 0
    AND jit_order.purse = :purse;

-- name: open_of_address
SELECT count(*)
FROM jit_wrapped
JOIN jit_order ON jit_order.id = jit_wrapped.order_id
WHERE jit_wrapped.closed = 0
    AND jit_wrapped.address = :address
    AND jit_order.purse = :purse;

-- name: without_cost
-- Whose channel's cost is not known.
SELECT jit_order.id
FROM jit_order
JOIN jit_wrapped ON jit_wrapped.order_id = jit_order.id
WHERE jit_order.status IN ('unpaid', 'earned')
    AND jit_order.funding_fee IS NULL;

-- name: prunable
SELECT jit_order.id
FROM jit_order
JOIN jit_wrapped ON jit_wrapped.order_id = jit_order.id
WHERE jit_order.status = 'expired'
    AND jit_wrapped.closed = 1
    AND jit_order.valid_until <= :before
LIMIT :limit;

-- name: delete
DELETE FROM jit_wrapped
WHERE order_id IN (:order_ids);

-- name: delete_orders
DELETE FROM jit_order
WHERE id IN (:order_ids);
