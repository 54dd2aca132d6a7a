-- What nodes used in the last day and month.

-- name: keep
INSERT INTO node_sample (
    node_id, span, slot, at, memory, cpu_millis, bytes_in, bytes_out, height
)
VALUES (
    :node_id, :span, :slot, :at, :memory, :cpu_millis, :bytes_in, :bytes_out, :height
)
ON CONFLICT (node_id, span, slot) DO UPDATE
SET at = excluded.at,
    memory = excluded.memory,
    cpu_millis = excluded.cpu_millis,
    bytes_in = excluded.bytes_in,
    bytes_out = excluded.bytes_out,
    height = excluded.height
WHERE node_sample.at < excluded.at;

-- name: of
SELECT at, memory, cpu_millis, bytes_in, bytes_out, height
FROM node_sample
WHERE node_id = :node_id AND span = :span AND at > :after
ORDER BY at;

-- name: delete
DELETE FROM node_sample
WHERE node_id = :node_id;
