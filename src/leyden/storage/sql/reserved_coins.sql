-- Coins of the seller's wallet that orders reserve.

-- name: add
INSERT INTO reserved_coin (txid, vout, order_id, sats)
VALUES (:txid, :vout, :order_id, :sats)
ON CONFLICT DO NOTHING;

-- name: all
SELECT txid, vout
FROM reserved_coin;

-- name: of_order
SELECT txid, vout, sats
FROM reserved_coin
WHERE order_id = :order_id
ORDER BY txid, vout;

-- name: release
DELETE FROM reserved_coin
WHERE order_id IN (:order_ids);
