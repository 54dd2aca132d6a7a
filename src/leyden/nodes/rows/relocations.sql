-- Moves of nodes between runtimes: the last one of each.

-- name: find
SELECT node_id, origin, target, step, copy, size, failures, why, at
FROM relocation
WHERE node_id = :node_id;

-- name: unfinished
SELECT node_id, origin, target, step, copy, size, failures, why, at
FROM relocation
WHERE step <> 'done'
ORDER BY node_id;

-- name: begin
-- Returns nothing while an earlier move is not complete.
INSERT INTO relocation (node_id, origin, target, step, copy, size, failures, why, at)
VALUES (:node_id, :origin, :target, 'stopping', '', 0, 0, '', :at)
ON CONFLICT (node_id) DO UPDATE
SET origin = excluded.origin,
    target = excluded.target,
    step = excluded.step,
    copy = excluded.copy,
    size = excluded.size,
    failures = excluded.failures,
    why = excluded.why,
    at = excluded.at
WHERE relocation.step = 'done'
RETURNING node_id;

-- name: save
-- Returns nothing if the move is at another step by now.
UPDATE relocation
SET step = :step,
    copy = :copy,
    size = :size,
    failures = :failures,
    why = :why,
    at = :at
WHERE node_id = :node_id
    AND step = :was
RETURNING node_id;

-- name: delete
-- Not before what it left behind is deleted: the task needs it.
DELETE FROM relocation
WHERE node_id = :node_id
    AND step = 'done';
