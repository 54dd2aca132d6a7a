"""Made of sql/receivers.py by `leyden check --write`."""

from leyden.storage.statements import Statement

GET = Statement(
    sqlite="""\
SELECT node.organization_id, node.api_endpoint, node.settings, node_outfit.webhook_secret, webhook_receiver.sealed_old_secret, webhook_receiver.old_secret_until, webhook_receiver.failing_since, webhook_receiver.pause
FROM node JOIN node_outfit ON node_outfit.node_id = node.id LEFT OUTER JOIN webhook_receiver ON webhook_receiver.node_id = node.id
WHERE node.id = :node_id""",
    postgresql="""\
SELECT node.organization_id, node.api_endpoint, node.settings, node_outfit.webhook_secret, webhook_receiver.sealed_old_secret, webhook_receiver.old_secret_until, webhook_receiver.failing_since, webhook_receiver.pause
FROM node JOIN node_outfit ON node_outfit.node_id = node.id LEFT OUTER JOIN webhook_receiver ON webhook_receiver.node_id = node.id
WHERE node.id = %(node_id)s::VARCHAR""",
)
SET_HEALTH = Statement(
    sqlite='INSERT INTO webhook_receiver (node_id, failing_since, pause) VALUES (:node_id, :failing_since, :pause) ON CONFLICT (node_id) DO UPDATE SET failing_since = excluded.failing_since, pause = excluded.pause',
    postgresql='INSERT INTO webhook_receiver (node_id, failing_since, pause) VALUES (%(node_id)s::VARCHAR, %(failing_since)s::BIGINT, %(pause)s::VARCHAR) ON CONFLICT (node_id) DO UPDATE SET failing_since = excluded.failing_since, pause = excluded.pause',
    types={'node_id': 'TEXT', 'failing_since': 'BIGINT', 'pause': 'TEXT'},
)
KEEP_OLD_SECRET = Statement(
    sqlite='INSERT INTO webhook_receiver (node_id, sealed_old_secret, old_secret_until) VALUES (:node_id, :sealed, :until) ON CONFLICT (node_id) DO UPDATE SET sealed_old_secret = excluded.sealed_old_secret, old_secret_until = excluded.old_secret_until',
    postgresql='INSERT INTO webhook_receiver (node_id, sealed_old_secret, old_secret_until) VALUES (%(node_id)s::VARCHAR, %(sealed)s, %(until)s::BIGINT) ON CONFLICT (node_id) DO UPDATE SET sealed_old_secret = excluded.sealed_old_secret, old_secret_until = excluded.old_secret_until',
    types={'node_id': 'TEXT', 'sealed': 'BYTEA', 'until': 'BIGINT'},
)
FORGET = Statement(
    sqlite='DELETE FROM webhook_receiver WHERE webhook_receiver.node_id = :node_id',
    postgresql='DELETE FROM webhook_receiver WHERE webhook_receiver.node_id = %(node_id)s::VARCHAR',
    types={'node_id': 'TEXT'},
)
