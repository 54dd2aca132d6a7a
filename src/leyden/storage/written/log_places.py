"""Made of sql/log_places.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ALL = Statement(
    sqlite="""\
SELECT node_log_place.node_id, node_log_place.inode, node_log_place.byte, node_log_place.head, node_log_place.rotated, node_log_place.edition
FROM node_log_place""",
    postgresql="""\
SELECT node_log_place.node_id, node_log_place.inode, node_log_place.byte, node_log_place.head, node_log_place.rotated, node_log_place.edition
FROM node_log_place""",
)
GET = Statement(
    sqlite="""\
SELECT node_log_place.node_id, node_log_place.inode, node_log_place.byte, node_log_place.head, node_log_place.rotated, node_log_place.edition
FROM node_log_place
WHERE node_log_place.node_id = :node_id""",
    postgresql="""\
SELECT node_log_place.node_id, node_log_place.inode, node_log_place.byte, node_log_place.head, node_log_place.rotated, node_log_place.edition
FROM node_log_place
WHERE node_log_place.node_id = %(node_id)s::VARCHAR""",
)
ADD = Statement(
    sqlite='INSERT INTO node_log_place (node_id, inode, byte, head, rotated, edition) VALUES (:node_id, :inode, :byte, :head, :rotated, :edition) ON CONFLICT DO NOTHING RETURNING node_id',
    postgresql='INSERT INTO node_log_place (node_id, inode, byte, head, rotated, edition) VALUES (%(node_id)s::VARCHAR, %(inode)s::BIGINT, %(byte)s::BIGINT, %(head)s, %(rotated)s::INTEGER, %(edition)s::INTEGER) ON CONFLICT DO NOTHING RETURNING node_log_place.node_id',
    constants={'edition': 1},
    types={'node_id': 'TEXT', 'inode': 'BIGINT', 'byte': 'BIGINT', 'head': 'BYTEA', 'rotated': 'INTEGER'},
)
MOVE = Statement(
    sqlite='UPDATE node_log_place SET inode=:inode, byte=:byte, head=:head, rotated=:rotated, edition=(node_log_place.edition + :edition_1) WHERE node_log_place.node_id = :of AND node_log_place.edition = :was RETURNING node_id',
    postgresql='UPDATE node_log_place SET inode=%(inode)s::BIGINT, byte=%(byte)s::BIGINT, head=%(head)s, rotated=%(rotated)s::INTEGER, edition=(node_log_place.edition + %(edition_1)s::INTEGER) WHERE node_log_place.node_id = %(of)s::VARCHAR AND node_log_place.edition = %(was)s::INTEGER RETURNING node_log_place.node_id',
    constants={'edition_1': 1},
    types={'inode': 'BIGINT', 'byte': 'BIGINT', 'head': 'BYTEA', 'rotated': 'INTEGER', 'of': 'TEXT', 'was': 'INTEGER'},
)
FORGET = Statement(
    sqlite='DELETE FROM node_log_place WHERE node_log_place.node_id = :node_id',
    postgresql='DELETE FROM node_log_place WHERE node_log_place.node_id = %(node_id)s::VARCHAR',
    types={'node_id': 'TEXT'},
)
