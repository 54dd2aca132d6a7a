-- Orders that came over LSPS1.

-- name: add
INSERT INTO lsps1_order (
    order_id, source, address, confirmations, within_blocks, token
)
VALUES (:order_id, :source, :address, :confirmations, :within_blocks, :token);

-- name: get
SELECT *
FROM lsps1_order
WHERE order_id = :order_id;

-- name: of_orders
SELECT *
FROM lsps1_order
WHERE order_id IN (:order_ids);

-- name: delete_moves
DELETE FROM order_move
WHERE order_id = :order_id;

-- name: delete
DELETE FROM lsps1_order
WHERE order_id = :order_id;

-- name: delete_order
DELETE FROM channel_order
WHERE id = :order_id;

-- name: unpaid_of_peer
SELECT count(*), coalesce(sum(channel_order.capacity), 0)
FROM channel_order
JOIN lsps1_order ON lsps1_order.order_id = channel_order.id
WHERE channel_order.status = 'waiting_payment'
    AND channel_order.node_key = :peer
    AND lsps1_order.source = :source;

-- name: unpaid_of_address
SELECT count(*)
FROM channel_order
JOIN lsps1_order ON lsps1_order.order_id = channel_order.id
WHERE channel_order.status = 'waiting_payment'
    AND lsps1_order.address = :address;

-- name: unpaid
SELECT count(*)
FROM channel_order
JOIN lsps1_order ON lsps1_order.order_id = channel_order.id
WHERE channel_order.status = 'waiting_payment';

-- name: reserved
-- Coins of all orders that have no channel yet.
SELECT coalesce(sum(reserved_coin.sats), 0)
FROM lsps1_order
JOIN reserved_coin ON reserved_coin.order_id = lsps1_order.order_id;
