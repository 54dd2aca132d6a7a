-- Responses, stored for a day under their Idempotency-Key.

-- name: delete_expired
-- An expired key can be used again.
DELETE FROM saved_answer
WHERE organization_id = :organization_id
    AND key = :key
    AND expires <= :now;

-- name: claim
-- Returns nothing if another request has this key, complete or in progress.
INSERT INTO saved_answer (
    organization_id, key, request, started, expires, holder, status, body
)
VALUES (
    :organization_id, :key, :request, :now, :expires, :holder, NULL, NULL
)
ON CONFLICT DO NOTHING
RETURNING key;

-- name: get
SELECT request, status, body, holder, started
FROM saved_answer
WHERE organization_id = :organization_id
    AND key = :key;

-- name: take_over
-- Only from the holder that died, and only while it has not responded.
UPDATE saved_answer
SET started = :now, holder = :holder
WHERE organization_id = :organization_id
    AND key = :key
    AND status IS NULL
    AND holder = :before
RETURNING key;

-- name: save
-- A holder that was taken for dead can't save a response.
UPDATE saved_answer
SET status = :status, body = :body
WHERE organization_id = :organization_id
    AND key = :key
    AND holder = :holder;

-- name: drop
DELETE FROM saved_answer
WHERE organization_id = :organization_id
    AND key = :key
    AND holder = :holder;

-- name: prune
DELETE FROM saved_answer
WHERE (organization_id, key) IN (
    SELECT organization_id, key
    FROM saved_answer
    WHERE expires <= :now
    LIMIT :limit
)
RETURNING expires;
