"""Made of sql/counts.py by `leyden check --write`."""

from leyden.storage.statements import Statement

NODES = Statement(
    sqlite="""\
SELECT node.status, count(*) AS count_1
FROM node
WHERE node.wanted != :wanted_1 GROUP BY node.status ORDER BY node.status""",
    postgresql="""\
SELECT node.status, count(*) AS count_1
FROM node
WHERE node.wanted != %(wanted_1)s::VARCHAR GROUP BY node.status ORDER BY node.status""",
    constants={'wanted_1': 'deleted'},
)
ORDERS = Statement(
    sqlite="""\
SELECT channel_order.status, count(*) AS count_1
FROM channel_order GROUP BY channel_order.status ORDER BY channel_order.status""",
    postgresql="""\
SELECT channel_order.status, count(*) AS count_1
FROM channel_order GROUP BY channel_order.status ORDER BY channel_order.status""",
)
TASKS = Statement(
    sqlite="""\
SELECT task.kind, count(*) AS count_1, min(task.due) AS min_1, max(task.attempts) AS max_1
FROM task
WHERE task.due <= :until GROUP BY task.kind ORDER BY task.kind""",
    postgresql="""\
SELECT task.kind, count(*) AS count_1, min(task.due) AS min_1, max(task.attempts) AS max_1
FROM task
WHERE task.due <= %(until)s::BIGINT GROUP BY task.kind ORDER BY task.kind""",
)
VERSIONS = Statement(
    sqlite="""\
SELECT node.version, count(*) AS count_1
FROM node
WHERE node.wanted != :wanted_1 GROUP BY node.version ORDER BY node.version""",
    postgresql="""\
SELECT node.version, count(*) AS count_1
FROM node
WHERE node.wanted != %(wanted_1)s::VARCHAR GROUP BY node.version ORDER BY node.version""",
    constants={'wanted_1': 'deleted'},
)
AILING = Statement(
    sqlite="""\
SELECT node.id, node.name, node.organization_id, node.status, node.version, node.crashes, node.due
FROM node
WHERE node.wanted != :wanted_1 AND (node.status = :status_1 OR node.crashes > :crashes_1) ORDER BY node.crashes DESC, node.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT node.id, node.name, node.organization_id, node.status, node.version, node.crashes, node.due
FROM node
WHERE node.wanted != %(wanted_1)s::VARCHAR AND (node.status = %(status_1)s::VARCHAR OR node.crashes > %(crashes_1)s::INTEGER) ORDER BY node.crashes DESC, node.id
 LIMIT %(most)s""",
    constants={'wanted_1': 'deleted', 'status_1': 'failed', 'crashes_1': 0, 'param_1': 0},
)
TRIED = Statement(
    sqlite="""\
SELECT task.kind, task."key", task.due, task.attempts
FROM task
WHERE task.attempts > :attempts_1 ORDER BY task.attempts DESC, task.kind, task."key"
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT task.kind, task.key, task.due, task.attempts
FROM task
WHERE task.attempts > %(attempts_1)s::INTEGER ORDER BY task.attempts DESC, task.kind, task.key
 LIMIT %(most)s""",
    constants={'attempts_1': 1, 'param_1': 0},
)
