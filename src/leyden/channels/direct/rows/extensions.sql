-- Extensions of leases.

-- name: add
INSERT INTO lease_extension (
    id, order_id, status, created, expires, blocks, ends, premium, service_fee,
    credit_used, charged, lightning_invoice, payment_hash, peer, scid, token
)
VALUES (
    :id, :order_id, :status, :created, :expires, :blocks, :ends, :premium, :service_fee,
    :credit_used, :charged, :lightning_invoice, :payment_hash, :peer, :scid,
    :token
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: get
SELECT *
FROM lease_extension
WHERE id = :id;

-- name: of_orders
SELECT *
FROM lease_extension
WHERE order_id IN (:order_ids)
ORDER BY created, id;

-- name: all
SELECT *
FROM lease_extension
WHERE id > :after
ORDER BY id
LIMIT :limit;

-- name: open_of_order
-- Its owner's: what its node ordered over LSPS7 is in nobody's way.
SELECT count(*)
FROM lease_extension
WHERE order_id = :order_id
    AND status IN ('waiting_payment', 'settling')
    AND id <> :but
    AND peer = '';

-- name: open_of_peer
SELECT count(*)
FROM lease_extension
WHERE peer = :peer
    AND status IN ('waiting_payment', 'settling');

-- name: invoiced
SELECT payment_hash
FROM lease_extension
WHERE payment_hash IN (:hashes);

-- name: waiting_for
SELECT id
FROM lease_extension
WHERE payment_hash IN (:hashes)
    AND status = 'waiting_payment'
ORDER BY id;

-- name: move
-- If no other process moved it first.
UPDATE lease_extension
SET status = :status, ends = :ends
WHERE id = :id
    AND status = :was
RETURNING id;

-- name: forget
-- Those that nobody paid in time.
DELETE FROM lease_extension
WHERE order_id = :order_id
    AND status = 'expired'
    AND expires < :before;
