-- Who did what, when.

-- name: add
INSERT INTO audit (id, at, actor, organization_id, action, subject, detail)
VALUES (:id, :at, :actor, :organization_id, :action, :subject, :detail);

-- name: latest
SELECT *
FROM audit
ORDER BY at DESC
LIMIT :most;

-- name: of_subject
SELECT *
FROM audit
WHERE organization_id = :organization_id
    AND at >= :since
    AND subject = :subject
    AND action = :action
ORDER BY at DESC
LIMIT :most;

-- name: of_organization
SELECT *
FROM audit
WHERE organization_id = :organization_id
    AND (at < :at OR (at = :at AND id < :id))
ORDER BY at DESC, id DESC
LIMIT :most;

-- name: people
-- All who were ever members: of others who act, operators, an owner learns no address.
SELECT id, email
FROM person
WHERE id IN (
    SELECT subject
    FROM audit
    WHERE organization_id = :organization_id
        AND action IN ('user created', 'member joined')
);
