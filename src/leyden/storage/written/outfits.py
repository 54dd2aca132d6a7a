"""Made of sql/outfits.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO node_outfit (node_id, sealed_settings, webhook_secret, certificate, certificate_until, "key") VALUES (:node_id, :sealed_settings, :webhook_secret, :certificate, :certificate_until, :key)',
    postgresql='INSERT INTO node_outfit (node_id, sealed_settings, webhook_secret, certificate, certificate_until, key) VALUES (%(node_id)s::VARCHAR, %(sealed_settings)s, %(webhook_secret)s, %(certificate)s, %(certificate_until)s::BIGINT, %(key)s)',
    types={'node_id': 'TEXT', 'sealed_settings': 'BYTEA', 'webhook_secret': 'BYTEA', 'certificate': 'BYTEA', 'certificate_until': 'BIGINT', 'key': 'BYTEA'},
)
GET = Statement(
    sqlite="""\
SELECT node_outfit.node_id, node_outfit.sealed_settings, node_outfit.webhook_secret, node_outfit.certificate, node_outfit.certificate_until, node_outfit."key"
FROM node_outfit
WHERE node_outfit.node_id = :node_id""",
    postgresql="""\
SELECT node_outfit.node_id, node_outfit.sealed_settings, node_outfit.webhook_secret, node_outfit.certificate, node_outfit.certificate_until, node_outfit.key
FROM node_outfit
WHERE node_outfit.node_id = %(node_id)s::VARCHAR""",
)
SET_SETTINGS = Statement(
    sqlite='UPDATE node_outfit SET sealed_settings=:sealed WHERE node_outfit.node_id = :of_node',
    postgresql='UPDATE node_outfit SET sealed_settings=%(sealed)s WHERE node_outfit.node_id = %(of_node)s::VARCHAR',
    types={'sealed': 'BYTEA', 'of_node': 'TEXT'},
)
SET_WEBHOOK_SECRET = Statement(
    sqlite='UPDATE node_outfit SET webhook_secret=:sealed WHERE node_outfit.node_id = :of_node',
    postgresql='UPDATE node_outfit SET webhook_secret=%(sealed)s WHERE node_outfit.node_id = %(of_node)s::VARCHAR',
    types={'sealed': 'BYTEA', 'of_node': 'TEXT'},
)
SET_CERTIFICATE = Statement(
    sqlite='UPDATE node_outfit SET certificate=:chain, certificate_until=:until, "key"=:sealed WHERE node_outfit.node_id = :of_node',
    postgresql='UPDATE node_outfit SET certificate=%(chain)s, certificate_until=%(until)s::BIGINT, key=%(sealed)s WHERE node_outfit.node_id = %(of_node)s::VARCHAR',
    types={'chain': 'BYTEA', 'until': 'BIGINT', 'sealed': 'BYTEA', 'of_node': 'TEXT'},
)
ENDINGS = Statement(
    sqlite="""\
SELECT node_outfit.node_id, node_outfit.certificate_until
FROM node_outfit
WHERE node_outfit.certificate_until < :before""",
    postgresql="""\
SELECT node_outfit.node_id, node_outfit.certificate_until
FROM node_outfit
WHERE node_outfit.certificate_until < %(before)s::BIGINT""",
)
