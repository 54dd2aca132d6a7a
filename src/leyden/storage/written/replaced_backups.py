"""Made of sql/replaced_backups.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO replaced_backup (node_id, name, at, sealed) VALUES (:of_node, :of_name, :now, :was)',
    postgresql='INSERT INTO replaced_backup (node_id, name, at, sealed) VALUES (%(of_node)s::VARCHAR, %(of_name)s::VARCHAR, %(now)s::BIGINT, %(was)s) RETURNING replaced_backup.id',
    types={'of_node': 'TEXT', 'of_name': 'TEXT', 'now': 'BIGINT', 'was': 'BYTEA'},
)
BOUND = Statement(
    sqlite="""\
DELETE FROM replaced_backup WHERE replaced_backup.node_id = :of_node AND replaced_backup.name = :of_name AND replaced_backup.id <= (SELECT replaced_backup.id
FROM replaced_backup
WHERE replaced_backup.node_id = :of_node AND replaced_backup.name = :of_name ORDER BY replaced_backup.id DESC
 LIMIT :param_1 OFFSET :kept)""",
    postgresql="""\
DELETE FROM replaced_backup WHERE replaced_backup.node_id = %(of_node)s::VARCHAR AND replaced_backup.name = %(of_name)s::VARCHAR AND replaced_backup.id <= (SELECT replaced_backup.id
FROM replaced_backup
WHERE replaced_backup.node_id = %(of_node)s::VARCHAR AND replaced_backup.name = %(of_name)s::VARCHAR ORDER BY replaced_backup.id DESC
 LIMIT %(param_1)s::INTEGER OFFSET %(kept)s::BIGINT)""",
    constants={'param_1': 1},
    types={'of_node': 'TEXT', 'of_name': 'TEXT', 'kept': 'BIGINT'},
)
LIST = Statement(
    sqlite="""\
SELECT replaced_backup.name, replaced_backup.at, replaced_backup.sealed
FROM replaced_backup
WHERE replaced_backup.node_id = :of_node ORDER BY replaced_backup.id DESC""",
    postgresql="""\
SELECT replaced_backup.name, replaced_backup.at, replaced_backup.sealed
FROM replaced_backup
WHERE replaced_backup.node_id = %(of_node)s::VARCHAR ORDER BY replaced_backup.id DESC""",
)
FORGET = Statement(
    sqlite='DELETE FROM replaced_backup WHERE replaced_backup.node_id = :of_node',
    postgresql='DELETE FROM replaced_backup WHERE replaced_backup.node_id = %(of_node)s::VARCHAR',
    types={'of_node': 'TEXT'},
)
FORGET_OLD = Statement(
    sqlite='DELETE FROM replaced_backup WHERE replaced_backup.at < :until',
    postgresql='DELETE FROM replaced_backup WHERE replaced_backup.at < %(until)s::BIGINT',
    types={'until': 'BIGINT'},
)
