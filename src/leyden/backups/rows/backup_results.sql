-- Results of the installation's backups, checks and drills.

-- name: keep
INSERT INTO backup_result (kind, ok, at, took_ms, snapshot, detail)
VALUES (:kind, :ok, :at, :took_ms, :snapshot, :detail)
ON CONFLICT (kind, ok) DO UPDATE
SET at = excluded.at,
    took_ms = excluded.took_ms,
    snapshot = excluded.snapshot,
    detail = excluded.detail;

-- name: all_
SELECT *
FROM backup_result
ORDER BY kind, ok;
