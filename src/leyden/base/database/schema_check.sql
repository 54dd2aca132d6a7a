-- What a start checks first: the schema's version, and whether our keys fit the database.

-- name: version
SELECT version_num
FROM alembic_version;

-- name: sealed_check
SELECT sealed
FROM secret_check;
