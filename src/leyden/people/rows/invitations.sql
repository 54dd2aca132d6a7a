-- Invitations to organizations. None of these reads the digest of a link.

-- name: add
INSERT INTO invitation (
    id, organization_id, email, role, digest, created, expires, ended
)
VALUES (
    :id, :organization_id, :email, :role, :digest, :created, :expires, NULL
);

-- name: find
-- A link works once, until it expires.
SELECT id, organization_id, email, role, created, expires
FROM invitation
WHERE digest = :digest
    AND ended IS NULL
    AND expires > :now;

-- name: list
SELECT id, organization_id, email, role, created, expires
FROM invitation
WHERE organization_id = :organization_id
    AND ended IS NULL
    AND expires > :now
ORDER BY created;

-- name: end
UPDATE invitation
SET ended = :now
WHERE organization_id = :organization_id
    AND id = :id
    AND ended IS NULL
RETURNING id;

-- name: delete_ended
-- Invitations that can no longer be used.
DELETE FROM invitation
WHERE organization_id = :organization_id
    AND (ended IS NOT NULL OR expires <= :now);

-- name: end_for
-- All invitations for this address.
UPDATE invitation
SET ended = :now
WHERE organization_id = :organization_id
    AND email = :email
    AND ended IS NULL;
