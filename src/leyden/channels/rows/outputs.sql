-- Chain outputs that pay for orders, and what was booked for each.

-- name: add
INSERT INTO chain_output (txid, vout, order_id, sats, state, seen, bookings, to_order)
VALUES (:txid, :vout, :order_id, :sats, :state, :seen, :bookings, :to_order);

-- name: save
-- The columns that can change, if the output still has the state that was read.
UPDATE chain_output
SET state = :state, bookings = :bookings, to_order = :to_order
WHERE txid = :txid
    AND vout = :vout
    AND state = :was;

-- name: of_order
SELECT *
FROM chain_output
WHERE order_id = :order_id
ORDER BY seen, txid, vout;

-- name: of_orders
SELECT *
FROM chain_output
WHERE order_id IN (:order_ids);

-- name: watched
-- The states are literals, so that the partial index on outputs that may change is used.
SELECT DISTINCT order_id
FROM chain_output
WHERE state IN ('seen', 'booked')
    AND order_id > :after
ORDER BY order_id
LIMIT :limit;
