"""Made of sql/commands.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO node_command (node_id, action, at, actor) VALUES (:node_id, :action, :at, :actor)',
    postgresql='INSERT INTO node_command (node_id, action, at, actor) VALUES (%(node_id)s::VARCHAR, %(action)s::VARCHAR, %(at)s::BIGINT, %(actor)s::VARCHAR) RETURNING node_command.id',
    types={'node_id': 'TEXT', 'action': 'TEXT', 'at': 'BIGINT', 'actor': 'TEXT'},
)
LIST = Statement(
    sqlite="""\
SELECT node_command.action, node_command.at
FROM node_command
WHERE node_command.node_id = :node_id ORDER BY node_command.id DESC
 LIMIT :kept OFFSET :param_1""",
    postgresql="""\
SELECT node_command.action, node_command.at
FROM node_command
WHERE node_command.node_id = %(node_id)s::VARCHAR ORDER BY node_command.id DESC
 LIMIT %(kept)s::BIGINT""",
    constants={'param_1': 0},
)
FORGET = Statement(
    sqlite="""\
DELETE FROM node_command WHERE node_command.node_id = :of_node AND node_command.id <= (SELECT node_command.id
FROM node_command
WHERE node_command.node_id = :node_id ORDER BY node_command.id DESC
 LIMIT :param_1 OFFSET :kept)""",
    postgresql="""\
DELETE FROM node_command WHERE node_command.node_id = %(of_node)s::VARCHAR AND node_command.id <= (SELECT node_command.id
FROM node_command
WHERE node_command.node_id = %(node_id)s::VARCHAR ORDER BY node_command.id DESC
 LIMIT %(param_1)s::INTEGER OFFSET %(kept)s::BIGINT)""",
    constants={'param_1': 1},
    types={'of_node': 'TEXT', 'node_id': 'TEXT', 'kept': 'BIGINT'},
)
