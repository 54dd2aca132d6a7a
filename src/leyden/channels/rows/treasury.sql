-- The lnd that receives our payments, as first seen: one row.

-- name: find
SELECT pubkey, stranger
FROM treasury;

-- name: add
INSERT INTO treasury (id, pubkey, stranger)
VALUES (1, :pubkey, '')
ON CONFLICT DO NOTHING;

-- name: replace
UPDATE treasury
SET pubkey = :pubkey, stranger = '';

-- name: set_stranger
UPDATE treasury
SET stranger = :stranger;
