-- Funding transactions of direct channels, and their bumps.

-- name: add
INSERT INTO funding (order_id, coins, since, state, obstacle)
VALUES (:order_id, :coins, :since, 'unconfirmed', '');

-- name: watched
-- The states are literals, so that the partial index on changeable transactions is used.
SELECT
    funding.order_id,
    channel_order.organization_id,
    lease.channel_point,
    lease.peer,
    funding.coins,
    funding.since,
    funding.state,
    funding.obstacle,
    (SELECT count(*) FROM funding_bump WHERE order_id = funding.order_id),
    (
        SELECT coalesce(max(height), 0)
        FROM funding_bump
        WHERE order_id = funding.order_id
    )
FROM funding
JOIN channel_order ON channel_order.id = funding.order_id
JOIN lease ON lease.order_id = funding.order_id
WHERE funding.state IN ('unconfirmed', 'confirmed')
    AND funding.order_id > :after
ORDER BY funding.order_id
LIMIT :limit;

-- name: spent
-- The states are literals, so that the partial index on changeable transactions is used.
SELECT coins
FROM funding
WHERE state IN ('unconfirmed', 'confirmed');

-- name: change
-- If no other process changed it first.
UPDATE funding
SET state = :state, obstacle = :obstacle, coins = :coins, since = :since
WHERE order_id = :order_id
    AND state = :was_state
    AND obstacle = :was_obstacle
RETURNING order_id;

-- name: lost
SELECT order_id
FROM funding
WHERE order_id IN (:order_ids)
    AND state = 'lost';

-- name: begin_bump
-- Before the call to lnd: after a crash the next bump is not made at once.
INSERT INTO funding_bump (order_id, number, at, height, sat_per_vb, fee, answer)
VALUES (:order_id, :number, :at, :height, :sat_per_vb, :fee, '')
ON CONFLICT DO NOTHING
RETURNING order_id;

-- name: end_bump
UPDATE funding_bump
SET answer = :answer
WHERE order_id = :order_id
    AND number = :number;

-- name: last_answers
-- For the newest bump of each transaction that the chain may still change.
SELECT funding_bump.order_id, funding_bump.sat_per_vb, funding_bump.answer
FROM funding_bump
JOIN funding ON funding.order_id = funding_bump.order_id
WHERE funding.state IN ('unconfirmed', 'confirmed')
    AND funding_bump.number = (
        SELECT max(newer.number)
        FROM funding_bump AS newer
        WHERE newer.order_id = funding_bump.order_id
    );

-- name: bumps_of
SELECT at, height, sat_per_vb, fee, answer
FROM funding_bump
WHERE order_id = :order_id
ORDER BY number;
