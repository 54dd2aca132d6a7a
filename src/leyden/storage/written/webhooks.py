"""Made of sql/webhooks.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO webhook_event (id, node_id, type, body, told_once, test, created, state, due, overtakable, attempts) VALUES (:id, :node_id, :type, :body, :told_once, :test, :created, :state, :due, :overtakable, :attempts) ON CONFLICT (node_id, told_once) WHERE told_once IS NOT NULL DO NOTHING RETURNING position',
    postgresql='INSERT INTO webhook_event (id, node_id, type, body, told_once, test, created, state, due, overtakable, attempts) VALUES (%(id)s::VARCHAR, %(node_id)s::VARCHAR, %(type)s::VARCHAR, %(body)s::VARCHAR, %(told_once)s::VARCHAR, %(test)s::INTEGER, %(created)s::BIGINT, %(state)s::VARCHAR, %(due)s::BIGINT, %(overtakable)s::INTEGER, %(attempts)s::INTEGER) ON CONFLICT (node_id, told_once) WHERE told_once IS NOT NULL DO NOTHING RETURNING webhook_event.position',
    types={'id': 'TEXT', 'node_id': 'TEXT', 'type': 'TEXT', 'body': 'TEXT', 'told_once': 'TEXT', 'test': 'INTEGER', 'created': 'BIGINT', 'state': 'TEXT', 'due': 'BIGINT', 'overtakable': 'INTEGER', 'attempts': 'INTEGER'},
)
SUPERSEDE = Statement(
    sqlite="UPDATE webhook_event SET state='superseded' WHERE webhook_event.node_id = :of AND webhook_event.state = 'pending' AND webhook_event.type = 'status'",
    postgresql="UPDATE webhook_event SET state='superseded' WHERE webhook_event.node_id = %(of)s::VARCHAR AND webhook_event.state = 'pending' AND webhook_event.type = 'status'",
    types={'of': 'TEXT'},
)
HURRY = Statement(
    sqlite="UPDATE webhook_event SET due=:now WHERE webhook_event.node_id = :of AND webhook_event.state = 'pending' AND webhook_event.due > :now",
    postgresql="UPDATE webhook_event SET due=%(now)s::BIGINT WHERE webhook_event.node_id = %(of)s::VARCHAR AND webhook_event.state = 'pending' AND webhook_event.due > %(now)s::BIGINT",
    types={'now': 'BIGINT', 'of': 'TEXT'},
)
GIVE_UP = Statement(
    sqlite="UPDATE webhook_event SET state='failed' WHERE webhook_event.node_id = :of AND webhook_event.state = 'pending' AND webhook_event.created < :before",
    postgresql="UPDATE webhook_event SET state='failed' WHERE webhook_event.node_id = %(of)s::VARCHAR AND webhook_event.state = 'pending' AND webhook_event.created < %(before)s::BIGINT",
    types={'of': 'TEXT', 'before': 'BIGINT'},
)
GIVE_ALL_UP = Statement(
    sqlite="UPDATE webhook_event SET state='failed' WHERE webhook_event.node_id = :of AND webhook_event.state = 'pending'",
    postgresql="UPDATE webhook_event SET state='failed' WHERE webhook_event.node_id = %(of)s::VARCHAR AND webhook_event.state = 'pending'",
    types={'of': 'TEXT'},
)
PENDING = Statement(
    sqlite="""\
SELECT webhook_event.position, webhook_event.id, webhook_event.node_id, webhook_event.type, webhook_event.body, webhook_event.told_once, webhook_event.test, webhook_event.created, webhook_event.state, webhook_event.due, webhook_event.overtakable, webhook_event.attempts
FROM webhook_event
WHERE webhook_event.node_id = :node_id AND webhook_event.state = 'pending' ORDER BY webhook_event.position
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT webhook_event.position, webhook_event.id, webhook_event.node_id, webhook_event.type, webhook_event.body, webhook_event.told_once, webhook_event.test, webhook_event.created, webhook_event.state, webhook_event.due, webhook_event.overtakable, webhook_event.attempts
FROM webhook_event
WHERE webhook_event.node_id = %(node_id)s::VARCHAR AND webhook_event.state = 'pending' ORDER BY webhook_event.position
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
LAST_ERROR = Statement(
    sqlite="""\
SELECT webhook_event.created
FROM webhook_event
WHERE webhook_event.node_id = :node_id AND webhook_event.type = 'error' ORDER BY webhook_event.position DESC
 LIMIT :param_1 OFFSET :param_2""",
    postgresql="""\
SELECT webhook_event.created
FROM webhook_event
WHERE webhook_event.node_id = %(node_id)s::VARCHAR AND webhook_event.type = 'error' ORDER BY webhook_event.position DESC
 LIMIT %(param_1)s::INTEGER""",
    constants={'param_1': 1, 'param_2': 0},
)
GET = Statement(
    sqlite="""\
SELECT webhook_event.position, webhook_event.id, webhook_event.node_id, webhook_event.type, webhook_event.body, webhook_event.told_once, webhook_event.test, webhook_event.created, webhook_event.state, webhook_event.due, webhook_event.overtakable, webhook_event.attempts
FROM webhook_event
WHERE webhook_event.node_id = :node_id AND webhook_event.id = :event_id""",
    postgresql="""\
SELECT webhook_event.position, webhook_event.id, webhook_event.node_id, webhook_event.type, webhook_event.body, webhook_event.told_once, webhook_event.test, webhook_event.created, webhook_event.state, webhook_event.due, webhook_event.overtakable, webhook_event.attempts
FROM webhook_event
WHERE webhook_event.node_id = %(node_id)s::VARCHAR AND webhook_event.id = %(event_id)s::VARCHAR""",
)
STRANDED = Statement(
    sqlite="""\
SELECT DISTINCT webhook_event.node_id
FROM webhook_event
WHERE webhook_event.state = 'pending' AND NOT (EXISTS (SELECT *
FROM task
WHERE task.kind = :kind AND task."key" = webhook_event.node_id)) AND NOT (EXISTS (SELECT *
FROM webhook_receiver
WHERE webhook_receiver.node_id = webhook_event.node_id AND webhook_receiver.pause IS NOT NULL))""",
    postgresql="""\
SELECT DISTINCT webhook_event.node_id
FROM webhook_event
WHERE webhook_event.state = 'pending' AND NOT (EXISTS (SELECT *
FROM task
WHERE task.kind = %(kind)s::VARCHAR AND task.key = webhook_event.node_id)) AND NOT (EXISTS (SELECT *
FROM webhook_receiver
WHERE webhook_receiver.node_id = webhook_event.node_id AND webhook_receiver.pause IS NOT NULL))""",
)
FORGET = Statement(
    sqlite='DELETE FROM webhook_event WHERE webhook_event.node_id = :node_id',
    postgresql='DELETE FROM webhook_event WHERE webhook_event.node_id = %(node_id)s::VARCHAR',
    types={'node_id': 'TEXT'},
)
