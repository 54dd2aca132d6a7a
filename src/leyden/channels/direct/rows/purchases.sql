-- Channels that are bought from other LSPs, one for an order at most.

-- name: add
INSERT INTO purchase (
    order_id, status, uri, lsp_order, invoice, payment_hash, price, routing_limit,
    expires, payer, began, height, asked, routing_fee, paid_at, channel_point
)
VALUES (
    :order_id, :status, :uri, :lsp_order, :invoice, :payment_hash, :price,
    :routing_limit, :expires, :payer, :began, :height, :asked, :routing_fee,
    :paid_at, :channel_point
);

-- name: get
SELECT
    order_id,
    status,
    uri,
    lsp_order,
    invoice,
    payment_hash,
    price,
    routing_limit,
    expires,
    payer,
    began,
    height,
    asked,
    routing_fee,
    paid_at,
    channel_point
FROM purchase
WHERE order_id IN (:order_ids);

-- name: save
-- If no other process changed it first.
UPDATE purchase
SET status = :status,
    lsp_order = :lsp_order,
    invoice = :invoice,
    payment_hash = :payment_hash,
    price = :price,
    routing_limit = :routing_limit,
    expires = :expires,
    payer = :payer,
    began = :began,
    height = :height,
    asked = :asked,
    routing_fee = :routing_fee,
    paid_at = :paid_at,
    channel_point = :channel_point
WHERE order_id = :order_id
    AND status = :was
RETURNING order_id;

-- name: with_hash
SELECT order_id
FROM purchase
WHERE payment_hash = :payment_hash;

-- name: with_channel
SELECT order_id
FROM purchase
WHERE channel_point = :channel_point;

-- name: lock
-- The budget: whoever is about to spend of it waits for the others, as each locks the
-- rows of all that may. Always in the order of their ids, so that there are no deadlocks.
SELECT order_id
FROM purchase
WHERE status = 'ordered'
ORDER BY order_id
/* FOR UPDATE */;

-- name: spent_since
-- What was paid, or may be, since then.
SELECT coalesce(sum(price + routing_limit), 0)
FROM purchase
WHERE began > :since
    AND status <> 'unpaid';

-- name: totals
SELECT
    purchase.status,
    count(*),
    coalesce(sum(channel_order.capacity), 0),
    coalesce(sum(purchase.price), 0),
    coalesce(sum(purchase.routing_fee), 0)
FROM purchase
JOIN channel_order ON channel_order.id = purchase.order_id
GROUP BY purchase.status;

-- name: earned
-- Service fees of orders whose channel was delivered.
SELECT coalesce(sum(channel_order.service_fee), 0)
FROM purchase
JOIN channel_order ON channel_order.id = purchase.order_id
WHERE purchase.status = 'delivered';
