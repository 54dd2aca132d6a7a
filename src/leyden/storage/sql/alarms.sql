-- Raised alarms.

-- name: list
SELECT kind
FROM alarm
ORDER BY kind;

-- name: add
INSERT INTO alarm (kind, since)
VALUES (:kind, :since)
ON CONFLICT DO NOTHING
RETURNING kind;

-- name: remove
DELETE FROM alarm
WHERE kind = :kind
RETURNING kind;
