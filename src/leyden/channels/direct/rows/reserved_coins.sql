-- Coins of the seller's wallet that orders reserve.

-- name: add
INSERT INTO reserved_coin (txid, vout, order_id, sats)
VALUES (:txid, :vout, :order_id, :sats)
ON CONFLICT DO NOTHING;

-- name: all
SELECT txid, vout, sats
FROM reserved_coin;

-- name: of_unpaid
-- Coins that an organization's unpaid orders hold.
SELECT txid, vout, reserved_coin.sats
FROM channel_order
JOIN reserved_coin ON reserved_coin.order_id = channel_order.id
WHERE channel_order.organization_id = :organization_id
    AND channel_order.status = 'waiting_payment';

-- name: of_order
SELECT txid, vout, sats
FROM reserved_coin
WHERE order_id = :order_id
ORDER BY txid, vout;

-- name: release
DELETE FROM reserved_coin
WHERE order_id IN (:order_ids);
