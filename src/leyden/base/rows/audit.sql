-- The audit log.

-- name: add
INSERT INTO audit (id, at, actor, organization_id, action, subject, detail)
VALUES (:id, :at, :actor, :organization_id, :action, :subject, :detail);

-- name: latest
SELECT *
FROM audit
ORDER BY at DESC
LIMIT :limit;

-- name: of_subject
SELECT *
FROM audit
WHERE organization_id = :organization_id
    AND at >= :since
    AND subject = :subject
    AND action = :action
ORDER BY at DESC
LIMIT :limit;

-- name: actor
-- The time is exact, so it is found at once, however long the log is.
SELECT actor
FROM audit
WHERE organization_id = :organization_id
    AND at = :at
    AND subject = :subject
    AND action = :action;

-- name: of_organization
SELECT *
FROM audit
WHERE organization_id = :organization_id
    AND (at < :at OR (at = :at AND id < :id))
ORDER BY at DESC, id DESC
LIMIT :limit;

-- name: people
-- Everybody who was ever a member. Owners do not learn the addresses of operators. The
-- actions are literals, so that the partial index on members is used.
SELECT id, email
FROM person
WHERE id IN (
    SELECT subject
    FROM audit
    WHERE organization_id = :organization_id
        AND action IN ('user created', 'member joined')
);
