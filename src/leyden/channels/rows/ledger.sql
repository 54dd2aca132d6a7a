-- The ledger's entries, and the stored balances.

-- name: post
-- The entry can't exist yet: if it does, that is a bug.
INSERT INTO entry (
    key, at, what, source, target, sats, organization_id, order_id, actor, note
)
VALUES (
    :key, :at, :what, :source, :target, :sats, :organization_id, :order_id, :actor,
    :note
);

-- name: find
SELECT id, entry.*
FROM entry
WHERE key = :key;

-- name: of_order
SELECT id, entry.*
FROM entry
WHERE order_id = :order_id
ORDER BY id;

-- name: customer_page
-- Entries between accounts of the operator are not the customer's. The cost of a filled
-- order is one entry: the auction's, plus what was earned.
SELECT
    id,
    entry.*,
    CASE WHEN what = 'auction' THEN coalesce(
        (
            SELECT sum(share.sats)
            FROM entry AS share
            WHERE share.order_id = entry.order_id
                AND share.source = entry.source
                AND share.what = 'earned'
        ),
        0
    ) ELSE 0 END
FROM entry
WHERE organization_id = :organization_id
    AND id < :before
    AND NOT (source IN (:operators) AND target IN (:operators))
    AND NOT (
        what = 'earned'
        AND EXISTS (
            SELECT 1
            FROM entry AS share
            WHERE share.order_id = entry.order_id
                AND share.source = entry.source
                AND share.what = 'auction'
        )
    )
ORDER BY id DESC
LIMIT :limit;

-- name: change_since
SELECT coalesce(sum(CASE WHEN target = :account THEN sats ELSE -sats END), 0)
FROM entry
WHERE organization_id = :organization_id
    AND id >= :since
    AND (source = :account OR target = :account);

-- name: sums
SELECT place, sum(sats)
FROM (
    SELECT target AS place, sats FROM entry
    UNION ALL
    SELECT source AS place, -sats AS sats FROM entry
) AS both_sides
GROUP BY place;

-- name: sums_of
-- As `sums`, of a few accounts: each order has an account, too.
SELECT place, sum(sats)
FROM (
    SELECT target AS place, sats FROM entry WHERE target IN (:accounts)
    UNION ALL
    SELECT source AS place, -sats AS sats FROM entry WHERE source IN (:accounts)
) AS both_sides
GROUP BY place;

-- name: add_to
INSERT INTO balance (place, sats)
VALUES (:account, :sats)
ON CONFLICT (place) DO UPDATE
SET sats = balance.sats + excluded.sats;

-- name: take_from
-- Returns nothing if the balance is lower, unless the place may be negative.
UPDATE balance
SET sats = sats - :sats
WHERE place = :account
    AND (:below_zero = 1 OR sats >= :sats)
RETURNING sats;

-- name: repay
-- A debt is repaid at most to zero.
UPDATE balance
SET sats = sats + :sats
WHERE place = :account
    AND sats + :sats <= 0
RETURNING sats;

-- name: release
-- The balance can only be too low by a bug, as the order that holds the money is locked.
UPDATE balance
SET sats = sats - :sats
WHERE place = :account;

-- name: balance
SELECT sats
FROM balance
WHERE place = :account;

-- name: balances
SELECT place, sats
FROM balance
WHERE place IN (:accounts);

-- name: receivables
-- Payments that the chain reversed after they were spent, and that are not repaid yet.
SELECT place, sats
FROM balance
WHERE place LIKE 'receivable:%'
    AND sats < 0
ORDER BY sats, place;

-- name: stored_balances
SELECT place, sats
FROM balance;
