"""Made of sql/backups.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD_SEED = Statement(
    sqlite='INSERT INTO node_seed (node_id, created, sealed) VALUES (:node_id, :created, :sealed) ON CONFLICT DO NOTHING RETURNING node_id',
    postgresql='INSERT INTO node_seed (node_id, created, sealed) VALUES (%(node_id)s::VARCHAR, %(created)s::BIGINT, %(sealed)s) ON CONFLICT DO NOTHING RETURNING node_seed.node_id',
    types={'node_id': 'TEXT', 'created': 'BIGINT', 'sealed': 'BYTEA'},
)
GET_SEED = Statement(
    sqlite="""\
SELECT node_seed.sealed
FROM node_seed
WHERE node_seed.node_id = :node_id""",
    postgresql="""\
SELECT node_seed.sealed
FROM node_seed
WHERE node_seed.node_id = %(node_id)s::VARCHAR""",
)
ADD_MACAROON = Statement(
    sqlite='INSERT INTO node_macaroon (node_id, name, created, sealed) VALUES (:node_id, :name, :created, :sealed) ON CONFLICT DO NOTHING RETURNING name',
    postgresql='INSERT INTO node_macaroon (node_id, name, created, sealed) VALUES (%(node_id)s::VARCHAR, %(name)s::VARCHAR, %(created)s::BIGINT, %(sealed)s) ON CONFLICT DO NOTHING RETURNING node_macaroon.name',
    types={'node_id': 'TEXT', 'name': 'TEXT', 'created': 'BIGINT', 'sealed': 'BYTEA'},
)
GET_MACAROON = Statement(
    sqlite="""\
SELECT node_macaroon.sealed
FROM node_macaroon
WHERE node_macaroon.node_id = :node_id AND node_macaroon.name = :name""",
    postgresql="""\
SELECT node_macaroon.sealed
FROM node_macaroon
WHERE node_macaroon.node_id = %(node_id)s::VARCHAR AND node_macaroon.name = %(name)s::VARCHAR""",
)
LIST_MACAROONS = Statement(
    sqlite="""\
SELECT node_macaroon.name, node_macaroon.created
FROM node_macaroon
WHERE node_macaroon.node_id = :node_id ORDER BY node_macaroon.created, node_macaroon.name""",
    postgresql="""\
SELECT node_macaroon.name, node_macaroon.created
FROM node_macaroon
WHERE node_macaroon.node_id = %(node_id)s::VARCHAR ORDER BY node_macaroon.created, node_macaroon.name""",
)
REPLACE_SEED = Statement(
    sqlite='UPDATE node_seed SET sealed=:sealed WHERE node_seed.node_id = :of_node AND node_seed.sealed = :was RETURNING node_id',
    postgresql='UPDATE node_seed SET sealed=%(sealed)s WHERE node_seed.node_id = %(of_node)s::VARCHAR AND node_seed.sealed = %(was)s RETURNING node_seed.node_id',
    types={'sealed': 'BYTEA', 'of_node': 'TEXT', 'was': 'BYTEA'},
)
REPLACE_MACAROON = Statement(
    sqlite='UPDATE node_macaroon SET sealed=:sealed WHERE node_macaroon.node_id = :of_node AND node_macaroon.name = :of_name AND node_macaroon.sealed = :was RETURNING name',
    postgresql='UPDATE node_macaroon SET sealed=%(sealed)s WHERE node_macaroon.node_id = %(of_node)s::VARCHAR AND node_macaroon.name = %(of_name)s::VARCHAR AND node_macaroon.sealed = %(was)s RETURNING node_macaroon.name',
    types={'sealed': 'BYTEA', 'of_node': 'TEXT', 'of_name': 'TEXT', 'was': 'BYTEA'},
)
ADD_CHANNELS = Statement(
    sqlite='INSERT INTO node_channel_backup (node_id, taken, digest, content) VALUES (:node_id, :taken, :digest, :content) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO node_channel_backup (node_id, taken, digest, content) VALUES (%(node_id)s::VARCHAR, %(taken)s::BIGINT, %(digest)s, %(content)s) ON CONFLICT DO NOTHING RETURNING node_channel_backup.id',
    types={'node_id': 'TEXT', 'taken': 'BIGINT', 'digest': 'BYTEA', 'content': 'BYTEA'},
)
LATEST_CHANNELS = Statement(
    sqlite="""\
SELECT node_channel_backup.taken, node_channel_backup.digest, node_channel_backup.content
FROM node_channel_backup
WHERE node_channel_backup.node_id = :node_id ORDER BY node_channel_backup.id DESC
 LIMIT :param_1 OFFSET :param_2""",
    postgresql="""\
SELECT node_channel_backup.taken, node_channel_backup.digest, node_channel_backup.content
FROM node_channel_backup
WHERE node_channel_backup.node_id = %(node_id)s::VARCHAR ORDER BY node_channel_backup.id DESC
 LIMIT %(param_1)s::INTEGER""",
    constants={'param_1': 1, 'param_2': 0},
)
HAS_CHANNELS = Statement(
    sqlite="""\
SELECT node_channel_backup.id
FROM node_channel_backup
WHERE node_channel_backup.node_id = :node_id AND node_channel_backup.digest = :digest""",
    postgresql="""\
SELECT node_channel_backup.id
FROM node_channel_backup
WHERE node_channel_backup.node_id = %(node_id)s::VARCHAR AND node_channel_backup.digest = %(digest)s""",
)
FORGET_CHANNELS = Statement(
    sqlite="""\
DELETE FROM node_channel_backup WHERE node_channel_backup.node_id = :of_node AND node_channel_backup.id <= (SELECT node_channel_backup.id
FROM node_channel_backup
WHERE node_channel_backup.node_id = :node_id ORDER BY node_channel_backup.id DESC
 LIMIT :param_1 OFFSET :kept)""",
    postgresql="""\
DELETE FROM node_channel_backup WHERE node_channel_backup.node_id = %(of_node)s::VARCHAR AND node_channel_backup.id <= (SELECT node_channel_backup.id
FROM node_channel_backup
WHERE node_channel_backup.node_id = %(node_id)s::VARCHAR ORDER BY node_channel_backup.id DESC
 LIMIT %(param_1)s::INTEGER OFFSET %(kept)s::BIGINT)""",
    constants={'param_1': 1},
    types={'of_node': 'TEXT', 'node_id': 'TEXT', 'kept': 'BIGINT'},
)
FORGET_SEED = Statement(
    sqlite='DELETE FROM node_seed WHERE node_seed.node_id = :node_id',
    postgresql='DELETE FROM node_seed WHERE node_seed.node_id = %(node_id)s::VARCHAR',
    types={'node_id': 'TEXT'},
)
FORGET_MACAROONS = Statement(
    sqlite='DELETE FROM node_macaroon WHERE node_macaroon.node_id = :node_id',
    postgresql='DELETE FROM node_macaroon WHERE node_macaroon.node_id = %(node_id)s::VARCHAR',
    types={'node_id': 'TEXT'},
)
FORGET_ALL_CHANNELS = Statement(
    sqlite='DELETE FROM node_channel_backup WHERE node_channel_backup.node_id = :node_id',
    postgresql='DELETE FROM node_channel_backup WHERE node_channel_backup.node_id = %(node_id)s::VARCHAR',
    types={'node_id': 'TEXT'},
)
