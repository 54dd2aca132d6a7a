-- Single-use links, and people's addresses, which they confirm.

-- name: add
-- The second time changes nothing: an email may be sent twice.
INSERT INTO email_link (
    digest, kind, user_id, address, browser, password, created, expires
)
VALUES (:digest, :kind, :user_id, :address, :browser, :password, :created, :expires)
ON CONFLICT DO NOTHING;

-- name: find
SELECT *
FROM email_link
WHERE digest = :digest
    AND kind = :kind
    AND expires > :now;

-- name: use
-- A link works once: a second use finds nothing.
DELETE FROM email_link
WHERE digest = :digest
RETURNING digest;

-- name: end_all
-- All links of a person: the address or the password has changed.
DELETE FROM email_link
WHERE user_id = :user_id;

-- name: delete
DELETE FROM email_link
WHERE expires <= :now;

-- name: confirmed
SELECT confirmed
FROM person
WHERE id = :id;

-- name: confirm
UPDATE person
SET confirmed = :now
WHERE id = :id
    AND email = :email
    AND confirmed IS NULL;

-- name: move
-- Returns nothing if another person has the address.
UPDATE person
SET email = :email, confirmed = :now
WHERE id = :id
    AND NOT EXISTS (
        SELECT 1
        FROM person AS other
        WHERE other.email = :email
    )
RETURNING id;
