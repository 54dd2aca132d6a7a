"""Made of sql/nodes.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO node (id, organization_id, name, network, type, version, api_endpoint, slot, created, status, wanted, revision, process, launched, host, launched_at, crashes, due, purchased_type, purchase_status, expires, edition, settings, has_wallet) VALUES (:id, :organization_id, :name, :network, :type, :version, :api_endpoint, :slot, :created, :status, :wanted, :revision, :process, :launched, :host, :launched_at, :crashes, :due, :purchased_type, :purchase_status, :expires, :edition, :settings, :has_wallet) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO node (id, organization_id, name, network, type, version, api_endpoint, slot, created, status, wanted, revision, process, launched, host, launched_at, crashes, due, purchased_type, purchase_status, expires, edition, settings, has_wallet) VALUES (%(id)s::VARCHAR, %(organization_id)s::VARCHAR, %(name)s::VARCHAR, %(network)s::VARCHAR, %(type)s::VARCHAR, %(version)s::VARCHAR, %(api_endpoint)s::VARCHAR, %(slot)s::INTEGER, %(created)s::BIGINT, %(status)s::VARCHAR, %(wanted)s::VARCHAR, %(revision)s::INTEGER, %(process)s::VARCHAR, %(launched)s::INTEGER, %(host)s::VARCHAR, %(launched_at)s::BIGINT, %(crashes)s::INTEGER, %(due)s::BIGINT, %(purchased_type)s::VARCHAR, %(purchase_status)s::VARCHAR, %(expires)s::BIGINT, %(edition)s::BIGINT, %(settings)s::VARCHAR, %(has_wallet)s::INTEGER) ON CONFLICT DO NOTHING RETURNING node.id',
    types={'id': 'TEXT', 'organization_id': 'TEXT', 'name': 'TEXT', 'network': 'TEXT', 'type': 'TEXT', 'version': 'TEXT', 'api_endpoint': 'TEXT', 'slot': 'INTEGER', 'created': 'BIGINT', 'status': 'TEXT', 'wanted': 'TEXT', 'revision': 'INTEGER', 'process': 'TEXT', 'launched': 'INTEGER', 'host': 'TEXT', 'launched_at': 'BIGINT', 'crashes': 'INTEGER', 'due': 'BIGINT', 'purchased_type': 'TEXT', 'purchase_status': 'TEXT', 'expires': 'BIGINT', 'edition': 'BIGINT', 'settings': 'TEXT', 'has_wallet': 'INTEGER'},
)
GET = Statement(
    sqlite="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.id = :node_id""",
    postgresql="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.id = %(node_id)s::VARCHAR""",
)
LOCK = Statement(
    sqlite="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.id = :node_id""",
    postgresql="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.id = %(node_id)s::VARCHAR FOR UPDATE""",
)
LIST = Statement(
    sqlite="""\
SELECT node.id, node.name, node.status, node.expires, node.created, node.type, node.purchased_type, node.purchase_status, node.api_endpoint, node.network, node.version, node.edition
FROM node
WHERE node.organization_id = :organization_id AND (node.wanted != :wanted_1 OR node.process != :process_1) ORDER BY node.created, node.id""",
    postgresql="""\
SELECT node.id, node.name, node.status, node.expires, node.created, node.type, node.purchased_type, node.purchase_status, node.api_endpoint, node.network, node.version, node.edition
FROM node
WHERE node.organization_id = %(organization_id)s::VARCHAR AND (node.wanted != %(wanted_1)s::VARCHAR OR node.process != %(process_1)s::VARCHAR) ORDER BY node.created, node.id""",
    constants={'wanted_1': 'deleted', 'process_1': ''},
)
STAMPS = Statement(
    sqlite="""\
SELECT node.id, node.edition
FROM node
WHERE node.organization_id = :organization_id AND (node.wanted != :wanted_1 OR node.process != :process_1) ORDER BY node.created, node.id""",
    postgresql="""\
SELECT node.id, node.edition
FROM node
WHERE node.organization_id = %(organization_id)s::VARCHAR AND (node.wanted != %(wanted_1)s::VARCHAR OR node.process != %(process_1)s::VARCHAR) ORDER BY node.created, node.id""",
    constants={'wanted_1': 'deleted', 'process_1': ''},
)
STAMP = Statement(
    sqlite="""\
SELECT node.id, node.edition, node_outfit.sealed_settings, node_outfit.webhook_secret, (SELECT max(node_command.id) AS max_1
FROM node_command
WHERE node_command.node_id = node.id) AS anon_1
FROM node JOIN node_outfit ON node_outfit.node_id = node.id
WHERE node.id = :node_id AND node.organization_id = :organization_id AND (node.wanted != :wanted_1 OR node.process != :process_1)""",
    postgresql="""\
SELECT node.id, node.edition, node_outfit.sealed_settings, node_outfit.webhook_secret, (SELECT max(node_command.id) AS max_1
FROM node_command
WHERE node_command.node_id = node.id) AS anon_1
FROM node JOIN node_outfit ON node_outfit.node_id = node.id
WHERE node.id = %(node_id)s::VARCHAR AND node.organization_id = %(organization_id)s::VARCHAR AND (node.wanted != %(wanted_1)s::VARCHAR OR node.process != %(process_1)s::VARCHAR)""",
    constants={'wanted_1': 'deleted', 'process_1': ''},
)
BY_NAME = Statement(
    sqlite="""\
SELECT node.id
FROM node
WHERE node.organization_id = :organization_id AND node.name = :name AND node.wanted != :wanted_1""",
    postgresql="""\
SELECT node.id
FROM node
WHERE node.organization_id = %(organization_id)s::VARCHAR AND node.name = %(name)s::VARCHAR AND node.wanted != %(wanted_1)s::VARCHAR""",
    constants={'wanted_1': 'deleted'},
)
BY_SLOT = Statement(
    sqlite="""\
SELECT node.id
FROM node
WHERE node.slot = :slot""",
    postgresql="""\
SELECT node.id
FROM node
WHERE node.slot = %(slot)s::INTEGER""",
)
WHAT_IS_LEFT = Statement(
    sqlite="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.slot IS NOT NULL ORDER BY node.id""",
    postgresql="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.slot IS NOT NULL ORDER BY node.id""",
)
OF_SHARD = Statement(
    sqlite="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.slot IS NOT NULL AND node.slot % :shards = :shard ORDER BY node.id""",
    postgresql="""\
SELECT node.id, node.organization_id, node.name, node.network, node.type, node.version, node.api_endpoint, node.slot, node.created, node.status, node.wanted, node.revision, node.process, node.launched, node.host, node.launched_at, node.crashes, node.due, node.purchased_type, node.purchase_status, node.expires, node.edition, node.settings, node.has_wallet
FROM node
WHERE node.slot IS NOT NULL AND node.slot %% %(shards)s::BIGINT = %(shard)s::INTEGER ORDER BY node.id""",
)
EDITIONS = Statement(
    sqlite="""\
SELECT node.id, node.edition
FROM node
WHERE node.slot IS NOT NULL AND node.wanted != :wanted_1""",
    postgresql="""\
SELECT node.id, node.edition
FROM node
WHERE node.slot IS NOT NULL AND node.wanted != %(wanted_1)s::VARCHAR""",
    constants={'wanted_1': 'deleted'},
)
SAVE = Statement(
    sqlite='UPDATE node SET version=:version, status=:status, wanted=:wanted, revision=:revision, process=:process, launched=:launched, host=:host, launched_at=:launched_at, crashes=:crashes, due=:due, purchased_type=:purchased_type, purchase_status=:purchase_status, expires=:expires, edition=:is, settings=:settings, has_wallet=:has_wallet WHERE node.id = :node_id AND node.edition = :was RETURNING id',
    postgresql='UPDATE node SET version=%(version)s::VARCHAR, status=%(status)s::VARCHAR, wanted=%(wanted)s::VARCHAR, revision=%(revision)s::INTEGER, process=%(process)s::VARCHAR, launched=%(launched)s::INTEGER, host=%(host)s::VARCHAR, launched_at=%(launched_at)s::BIGINT, crashes=%(crashes)s::INTEGER, due=%(due)s::BIGINT, purchased_type=%(purchased_type)s::VARCHAR, purchase_status=%(purchase_status)s::VARCHAR, expires=%(expires)s::BIGINT, edition=%(is)s::BIGINT, settings=%(settings)s::VARCHAR, has_wallet=%(has_wallet)s::INTEGER WHERE node.id = %(node_id)s::VARCHAR AND node.edition = %(was)s::BIGINT RETURNING node.id',
    types={'version': 'TEXT', 'status': 'TEXT', 'wanted': 'TEXT', 'revision': 'INTEGER', 'process': 'TEXT', 'launched': 'INTEGER', 'host': 'TEXT', 'launched_at': 'BIGINT', 'crashes': 'INTEGER', 'due': 'BIGINT', 'purchased_type': 'TEXT', 'purchase_status': 'TEXT', 'expires': 'BIGINT', 'is': 'BIGINT', 'settings': 'TEXT', 'has_wallet': 'INTEGER', 'node_id': 'TEXT', 'was': 'BIGINT'},
)
VACATE = Statement(
    sqlite='UPDATE node SET slot=:slot WHERE node.id = :node_id',
    postgresql='UPDATE node SET slot=%(slot)s::INTEGER WHERE node.id = %(node_id)s::VARCHAR',
    constants={'slot': None},
    types={'node_id': 'TEXT'},
)
