-- Status changes of orders.

-- name: add
INSERT INTO order_move (order_id, at, before, after)
VALUES (:order_id, :at, :before, :after);

-- name: of_order
SELECT before, after, at
FROM order_move
WHERE order_id = :order_id
ORDER BY id;
