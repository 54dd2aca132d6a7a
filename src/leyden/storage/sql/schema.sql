-- What a start looks at first: which schema this is, and whether our keys fit it.

-- name: version
SELECT version_num
FROM alembic_version;

-- name: sealed_check
SELECT sealed
FROM secret_check;
