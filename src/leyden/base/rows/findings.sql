-- What jobs found wrong, and no other table shows afterwards.

-- name: add
INSERT INTO finding (kind, subject, what, found, until)
VALUES (:kind, :subject, :what, :found, :until)
ON CONFLICT (kind, subject) DO UPDATE
SET what = excluded.what,
    found = excluded.found,
    until = excluded.until;

-- name: list
SELECT kind, subject, what
FROM finding
WHERE until > :now
ORDER BY kind, found, subject;

-- name: forget
DELETE FROM finding
WHERE kind = :kind
    AND found < :since;

-- name: delete
DELETE FROM finding
WHERE until <= :now;
