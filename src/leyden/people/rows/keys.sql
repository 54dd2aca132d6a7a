-- API keys. None of these reads the digest of a key.

-- name: add
-- Returns nothing if the id is in use.
INSERT INTO api_key (
    id, organization_id, name, hint, digest, scopes, created, expires, last_used,
    revoked
)
VALUES (
    :id, :organization_id, :name, :hint, :digest, :scopes, :created, :expires, NULL,
    NULL
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: principal
-- Every request runs this, so it reads only what is needed.
SELECT organization_id, id, scopes
FROM api_key
WHERE digest = :digest
    AND revoked IS NULL
    AND (expires IS NULL OR expires > :now);

-- name: list
SELECT id, organization_id, name, hint, scopes, created, expires, last_used, revoked
FROM api_key
WHERE organization_id = :organization_id
ORDER BY created;

-- name: expiring
-- Valid keys that expire before then, had a longer lifetime than that, and were not
-- announced yet. Operators' keys are in no organization's log.
SELECT id, organization_id, name, hint, scopes, created, expires, last_used, revoked
FROM api_key
WHERE revoked IS NULL
    AND organization_id <> 'installation'
    AND expires > :now
    AND expires <= :before
    AND created < expires - :notice
    AND NOT EXISTS (
        SELECT 1
        FROM event
        WHERE event.organization_id = api_key.organization_id
            AND event.once = api_key.id || ' expiring'
    )
ORDER BY organization_id, expires
LIMIT :limit;

-- name: count_live
SELECT count(*)
FROM api_key
WHERE organization_id = :organization_id
    AND revoked IS NULL
    AND (expires IS NULL OR expires > :now);

-- name: delete_ended
-- All ended keys except the latest.
DELETE FROM api_key
WHERE organization_id = :organization_id
    AND (revoked IS NOT NULL OR expires <= :now)
    AND id NOT IN (
        SELECT id
        FROM api_key
        WHERE organization_id = :organization_id
            AND (revoked IS NOT NULL OR expires <= :now)
        ORDER BY coalesce(revoked, expires) DESC, id
        LIMIT :limit
    );

-- name: revoke
UPDATE api_key
SET revoked = :now
WHERE organization_id = :organization_id
    AND id = :id
    AND revoked IS NULL
RETURNING id;

-- name: used
-- The time never goes back.
UPDATE api_key
SET last_used = :used
WHERE id = :id
    AND (last_used IS NULL OR last_used < :used);
