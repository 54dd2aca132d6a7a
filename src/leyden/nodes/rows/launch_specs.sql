-- Each node's launch spec, sealed.

-- name: add
INSERT INTO node_outfit (
    node_id, sealed_settings, webhook_secret, certificate, certificate_until, key
)
VALUES (
    :node_id, :sealed_settings, :webhook_secret, :certificate, :certificate_until, :key
);

-- name: get
SELECT *
FROM node_outfit
WHERE node_id = :node_id;

-- name: set_settings
UPDATE node_outfit
SET sealed_settings = :sealed_settings
WHERE node_id = :node_id;

-- name: set_webhook_secret
UPDATE node_outfit
SET webhook_secret = :webhook_secret
WHERE node_id = :node_id;

-- name: set_certificate
UPDATE node_outfit
SET certificate = :certificate, certificate_until = :certificate_until, key = :key
WHERE node_id = :node_id;

-- name: endings
-- Expiry times of certificates that expire before then.
SELECT node_id, certificate_until
FROM node_outfit
WHERE certificate_until < :before;
