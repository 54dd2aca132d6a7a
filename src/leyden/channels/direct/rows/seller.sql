-- The lnd that opens direct channels, as last seen: one row.

-- name: find
SELECT pubkey, uri
FROM seller;

-- name: lock
SELECT pubkey
FROM seller
/* FOR UPDATE */;

-- name: add
INSERT INTO seller (id, pubkey, uri)
VALUES (1, :pubkey, :uri)
ON CONFLICT DO NOTHING;

-- name: replace
UPDATE seller
SET pubkey = :pubkey, uri = :uri;
