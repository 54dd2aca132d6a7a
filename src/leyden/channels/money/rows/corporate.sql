-- Organizations that pay later, up to a limit.

-- name: limit
SELECT most_owed
FROM corporate_account
WHERE organization_id = :organization_id;

-- name: set_limit
INSERT INTO corporate_account (organization_id, most_owed, since)
VALUES (:organization_id, :most_owed, :since)
ON CONFLICT (organization_id) DO UPDATE
SET most_owed = excluded.most_owed;

-- name: end
DELETE FROM corporate_account
WHERE organization_id = :organization_id;
