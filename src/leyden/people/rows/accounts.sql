-- Organizations, people, and memberships.

-- name: reach
-- For the readiness probe: takes the same time however large the database is.
SELECT id
FROM organization
LIMIT 1;

-- name: add_organization
-- Returns nothing if the id or the name is in use.
INSERT INTO organization (id, name, created)
VALUES (:id, :name, :created)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: get_organization
SELECT *
FROM organization
WHERE id = :id;

-- name: lock_organization
SELECT id
FROM organization
WHERE id = :id
/* FOR UPDATE */;

-- name: list_organizations
SELECT *
FROM organization
ORDER BY created;

-- name: add_person
-- Returns nothing if the email address is in use.
INSERT INTO person (id, email, password, created)
VALUES (:id, :email, :password, :created)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: find_person
-- Without the password hash, which only sign-in needs.
SELECT id, email, created
FROM person
WHERE email = :email;

-- name: list_people
SELECT id, email, created
FROM person
ORDER BY created;

-- name: set_password
UPDATE person
SET password = :password
WHERE id = :id
RETURNING id;

-- name: join
-- The second time changes the role.
INSERT INTO membership (organization_id, user_id, role, created)
VALUES (:organization_id, :user_id, :role, :created)
ON CONFLICT (organization_id, user_id) DO UPDATE
SET role = excluded.role;
