-- The channels that orders became, and what the auction took for each.

-- name: add
INSERT INTO lease (
    order_id, at, channel_point, premium, execution_fee, chain_fee, self_chan_balance,
    node, peer, height
)
VALUES (
    :order_id, :at, :channel_point, :premium, :execution_fee, :chain_fee,
    :self_chan_balance, :node, :peer, :height
);

-- name: of_orders
SELECT
    order_id,
    channel_point,
    premium,
    execution_fee,
    chain_fee,
    self_chan_balance,
    node,
    peer,
    height,
    at
FROM lease
WHERE order_id IN (:order_ids);
