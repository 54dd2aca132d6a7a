-- People: sign-in data, memberships, and operators.

-- name: get
SELECT id, email, created, theme, time_zone
FROM person
WHERE id = :id;

-- name: set_display
UPDATE person
SET theme = :theme, time_zone = :time_zone
WHERE id = :id;

-- name: lock
SELECT id
FROM person
WHERE id = :id
/* FOR UPDATE */;

-- name: password
SELECT id, email, created, password
FROM person
WHERE email = :email;

-- name: memberships
SELECT organization.id, organization.name, organization.created, membership.role
FROM membership
JOIN organization ON organization.id = membership.organization_id
WHERE membership.user_id = :user_id
ORDER BY membership.created, organization.id;

-- name: members
SELECT person.id, person.email, person.created, membership.role, membership.created
FROM membership
JOIN person ON person.id = membership.user_id
WHERE membership.organization_id = :organization_id
ORDER BY membership.created, person.id;

-- name: role
SELECT role
FROM membership
WHERE organization_id = :organization_id
    AND user_id = :user_id;

-- name: count_owners
SELECT count(*)
FROM membership
WHERE organization_id = :organization_id
    AND role = 'owner';

-- name: leave
DELETE FROM membership
WHERE organization_id = :organization_id
    AND user_id = :user_id
RETURNING user_id;

-- name: is_operator
SELECT user_id
FROM operator
WHERE user_id = :user_id;

-- name: make_operator
INSERT INTO operator (user_id, created)
VALUES (:user_id, :created)
ON CONFLICT DO NOTHING;

-- name: unmake_operator
DELETE FROM operator
WHERE user_id = :user_id;

-- name: operators
SELECT person.id, person.email, person.created
FROM operator
JOIN person ON person.id = operator.user_id
ORDER BY operator.created, person.id;
