-- Emails that wait for the mail server.

-- name: add
INSERT INTO email (id, organization_id, address, sealed, created, expires, attempts)
VALUES (:id, :organization_id, :address, :sealed, :created, :expires, :attempts);

-- name: get
SELECT *
FROM email
WHERE id = :id;

-- name: set_attempts
UPDATE email
SET attempts = :attempts
WHERE id = :id;

-- name: failing
-- Letters, and emails about events, with at least this many failed attempts.
SELECT
    (
        SELECT count(*)
        FROM email
        WHERE attempts >= :attempts
    ) + (
        SELECT count(*)
        FROM subscription
        WHERE format = 'email'
            AND pause IS NULL
            AND stopped = 0
            AND attempts >= :attempts
    );

-- name: delete
DELETE FROM email
WHERE id = :id;
