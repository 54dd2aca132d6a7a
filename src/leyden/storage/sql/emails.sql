-- Emails that wait for the mail server.

-- name: add
INSERT INTO email (id, organization_id, address, sealed, created, expires)
VALUES (:id, :organization_id, :address, :sealed, :created, :expires);

-- name: get
SELECT *
FROM email
WHERE id = :id;

-- name: delete
DELETE FROM email
WHERE id = :id;
