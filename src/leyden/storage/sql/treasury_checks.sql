-- The last comparison of the ledger with the treasury: one row.

-- name: find
SELECT at, orders, differences
FROM treasury_check;

-- name: save
INSERT INTO treasury_check (id, at, orders, differences)
VALUES (1, :at, :orders, :differences)
ON CONFLICT (id) DO UPDATE
SET at = excluded.at,
    orders = excluded.orders,
    differences = excluded.differences;
