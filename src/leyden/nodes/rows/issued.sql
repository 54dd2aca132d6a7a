-- Certificates that an external authority has issued, or that are being ordered.

-- name: add
-- Returns nothing if a certificate for this name is already requested.
INSERT INTO issued_certificate (name, node_id, order_url, refusals)
VALUES (:name, :node_id, '', 0)
ON CONFLICT DO NOTHING
RETURNING name;

-- name: find
SELECT name, node_id, chain, until, key, order_url, order_key, refusals
FROM issued_certificate
WHERE name = :name;

-- name: delete
DELETE FROM issued_certificate
WHERE name = :name;

-- name: set_order
-- Only if no order is open.
UPDATE issued_certificate
SET order_url = :order_url, order_key = :order_key
WHERE name = :name
    AND order_url = ''
RETURNING name;

-- name: end_order
-- Only if it is still this order. Returns the number of failures in a row.
UPDATE issued_certificate
SET order_url = '', order_key = NULL, refusals = refusals + 1
WHERE name = :name
    AND order_url = :order_url
RETURNING refusals;

-- name: keep
-- Only for this order, with the key of the order.
UPDATE issued_certificate
SET chain = :chain,
    until = :until,
    key = order_key,
    order_url = '',
    order_key = NULL,
    refusals = 0
WHERE name = :name
    AND order_url = :order_url
RETURNING name;

-- name: nodes_without_request
SELECT node.id
FROM node
LEFT JOIN issued_certificate ON issued_certificate.node_id = node.id
WHERE issued_certificate.name IS NULL
    AND node.wanted <> 'deleted'
ORDER BY node.id;

-- name: add_account
INSERT INTO issuer_account (directory, sealed)
VALUES (:directory, :sealed)
ON CONFLICT DO NOTHING;

-- name: account
SELECT sealed
FROM issuer_account
WHERE directory = :directory;
