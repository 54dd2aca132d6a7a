-- The last comparison of the ledger with the treasury: one row.

-- name: find
SELECT at, orders, unknown, differences
FROM treasury_check;

-- name: save
INSERT INTO treasury_check (id, at, orders, unknown, differences)
VALUES (1, :at, :orders, :unknown, :differences)
ON CONFLICT (id) DO UPDATE
SET at = excluded.at,
    orders = excluded.orders,
    unknown = excluded.unknown,
    differences = excluded.differences;
