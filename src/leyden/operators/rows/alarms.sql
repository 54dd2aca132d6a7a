-- Raised alarms.

-- name: list
SELECT *
FROM raised_alarm
ORDER BY kind, since, subject, reason;

-- name: add
INSERT INTO raised_alarm (kind, subject, reason, what, since)
VALUES (:kind, :subject, :reason, :what, :since)
ON CONFLICT DO NOTHING
RETURNING kind;

-- name: describe
UPDATE raised_alarm
SET what = :what
WHERE kind = :kind
    AND subject = :subject
    AND reason = :reason;

-- name: remove
DELETE FROM raised_alarm
WHERE kind = :kind
    AND subject = :subject
    AND reason = :reason
RETURNING kind;

-- name: checked_at
SELECT at
FROM alarm_check;

-- name: keep_check
INSERT INTO alarm_check (id, at)
VALUES (1, :at)
ON CONFLICT (id) DO UPDATE
SET at = excluded.at;
