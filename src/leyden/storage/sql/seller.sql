-- The lnd that opens direct channels, as it was first seen: one row.

-- name: find
SELECT pubkey
FROM seller;

-- name: lock
SELECT pubkey
FROM seller
/* FOR UPDATE */;

-- name: add
INSERT INTO seller (id, pubkey)
VALUES (1, :pubkey)
ON CONFLICT DO NOTHING;

-- name: replace
UPDATE seller
SET pubkey = :pubkey;
