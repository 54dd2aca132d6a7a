"""Made of sql/deliveries.py by `leyden check --write`."""

from leyden.storage.statements import Statement

SETTLE = Statement(
    sqlite='UPDATE webhook_event SET state=CASE WHEN (webhook_event.state = :state_1 OR :becomes = :param_1) THEN :becomes ELSE webhook_event.state END, due=CASE WHEN (webhook_event.state = :state_1 OR :becomes = :param_1) THEN :next_due ELSE webhook_event.due END, overtakable=:may_be_overtaken, attempts=(webhook_event.attempts + :attempts_1) WHERE webhook_event.id = :event_id RETURNING attempts',
    postgresql='UPDATE webhook_event SET state=CASE WHEN (webhook_event.state = %(state_1)s::VARCHAR OR %(becomes)s = %(param_1)s::VARCHAR) THEN %(becomes)s ELSE webhook_event.state END, due=CASE WHEN (webhook_event.state = %(state_1)s::VARCHAR OR %(becomes)s = %(param_1)s::VARCHAR) THEN %(next_due)s ELSE webhook_event.due END, overtakable=%(may_be_overtaken)s::INTEGER, attempts=(webhook_event.attempts + %(attempts_1)s::INTEGER) WHERE webhook_event.id = %(event_id)s::VARCHAR RETURNING webhook_event.attempts',
    constants={'state_1': 'pending', 'param_1': 'delivered', 'attempts_1': 1},
)
ADD = Statement(
    sqlite='INSERT INTO webhook_attempt (event_id, number, at, took, status, excerpt, error) VALUES (:event_id, :number, :at, :took, :status, :excerpt, :error)',
    postgresql='INSERT INTO webhook_attempt (event_id, number, at, took, status, excerpt, error) VALUES (%(event_id)s::VARCHAR, %(number)s::INTEGER, %(at)s::BIGINT, %(took)s::BIGINT, %(status)s::INTEGER, %(excerpt)s::VARCHAR, %(error)s::VARCHAR)',
    types={'event_id': 'TEXT', 'number': 'INTEGER', 'at': 'BIGINT', 'took': 'BIGINT', 'status': 'INTEGER', 'excerpt': 'TEXT', 'error': 'TEXT'},
)
LIST = Statement(
    sqlite="""\
SELECT webhook_event.position, webhook_event.id, webhook_event.node_id, webhook_event.type, webhook_event.body, webhook_event.told_once, webhook_event.test, webhook_event.created, webhook_event.state, webhook_event.due, webhook_event.overtakable, webhook_event.attempts
FROM webhook_event
WHERE webhook_event.node_id = :node_id AND webhook_event.position < :before ORDER BY webhook_event.position DESC
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT webhook_event.position, webhook_event.id, webhook_event.node_id, webhook_event.type, webhook_event.body, webhook_event.told_once, webhook_event.test, webhook_event.created, webhook_event.state, webhook_event.due, webhook_event.overtakable, webhook_event.attempts
FROM webhook_event
WHERE webhook_event.node_id = %(node_id)s::VARCHAR AND webhook_event.position < %(before)s::BIGINT ORDER BY webhook_event.position DESC
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
LIST_ATTEMPTS = Statement(
    sqlite="""\
SELECT webhook_attempt.event_id, webhook_attempt.number, webhook_attempt.at, webhook_attempt.took, webhook_attempt.status, webhook_attempt.excerpt, webhook_attempt.error
FROM webhook_attempt JOIN webhook_event ON webhook_event.id = webhook_attempt.event_id
WHERE webhook_event.node_id = :node_id AND webhook_event.position BETWEEN :first AND :last ORDER BY webhook_attempt.event_id, webhook_attempt.number""",
    postgresql="""\
SELECT webhook_attempt.event_id, webhook_attempt.number, webhook_attempt.at, webhook_attempt.took, webhook_attempt.status, webhook_attempt.excerpt, webhook_attempt.error
FROM webhook_attempt JOIN webhook_event ON webhook_event.id = webhook_attempt.event_id
WHERE webhook_event.node_id = %(node_id)s::VARCHAR AND webhook_event.position BETWEEN %(first)s::BIGINT AND %(last)s::BIGINT ORDER BY webhook_attempt.event_id, webhook_attempt.number""",
)
PRUNE = Statement(
    sqlite="""\
DELETE FROM webhook_event WHERE webhook_event.position IN (SELECT anon_1.position
FROM (SELECT webhook_event.position AS position, webhook_event.created AS created
FROM webhook_event ORDER BY webhook_event.position
 LIMIT :most OFFSET :param_1) AS anon_1
WHERE anon_1.created < :before) RETURNING position""",
    postgresql="""\
DELETE FROM webhook_event WHERE webhook_event.position IN (SELECT anon_1.position
FROM (SELECT webhook_event.position AS position, webhook_event.created AS created
FROM webhook_event ORDER BY webhook_event.position
 LIMIT %(most)s::BIGINT) AS anon_1
WHERE anon_1.created < %(before)s::BIGINT) RETURNING webhook_event.position""",
    constants={'param_1': 0},
    types={'most': 'BIGINT', 'before': 'BIGINT'},
)
