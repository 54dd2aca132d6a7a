"""Made of sql/issued.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO issued_certificate (name, node_id, order_url, refusals) VALUES (:name, :node_id, :order_url, :refusals) ON CONFLICT DO NOTHING RETURNING name',
    postgresql='INSERT INTO issued_certificate (name, node_id, order_url, refusals) VALUES (%(name)s::VARCHAR, %(node_id)s::VARCHAR, %(order_url)s::VARCHAR, %(refusals)s::INTEGER) ON CONFLICT DO NOTHING RETURNING issued_certificate.name',
    constants={'order_url': '', 'refusals': 0},
    types={'name': 'TEXT', 'node_id': 'TEXT'},
)
FIND = Statement(
    sqlite="""\
SELECT issued_certificate.name, issued_certificate.node_id, issued_certificate.chain, issued_certificate.until, issued_certificate."key", issued_certificate.order_url, issued_certificate.order_key, issued_certificate.refusals
FROM issued_certificate
WHERE issued_certificate.name = :of_name""",
    postgresql="""\
SELECT issued_certificate.name, issued_certificate.node_id, issued_certificate.chain, issued_certificate.until, issued_certificate.key, issued_certificate.order_url, issued_certificate.order_key, issued_certificate.refusals
FROM issued_certificate
WHERE issued_certificate.name = %(of_name)s::VARCHAR""",
)
FORGET = Statement(
    sqlite='DELETE FROM issued_certificate WHERE issued_certificate.name = :of_name',
    postgresql='DELETE FROM issued_certificate WHERE issued_certificate.name = %(of_name)s::VARCHAR',
    types={'of_name': 'TEXT'},
)
SET_ORDER = Statement(
    sqlite='UPDATE issued_certificate SET order_url=:url, order_key=:sealed WHERE issued_certificate.name = :of_name AND issued_certificate.order_url = :order_url_1 RETURNING name',
    postgresql='UPDATE issued_certificate SET order_url=%(url)s::VARCHAR, order_key=%(sealed)s WHERE issued_certificate.name = %(of_name)s::VARCHAR AND issued_certificate.order_url = %(order_url_1)s::VARCHAR RETURNING issued_certificate.name',
    constants={'order_url_1': ''},
    types={'url': 'TEXT', 'sealed': 'BYTEA', 'of_name': 'TEXT'},
)
END_ORDER = Statement(
    sqlite='UPDATE issued_certificate SET order_url=:order_url, order_key=:order_key, refusals=(issued_certificate.refusals + :refusals_1) WHERE issued_certificate.name = :of_name AND issued_certificate.order_url = :of_order RETURNING refusals',
    postgresql='UPDATE issued_certificate SET order_url=%(order_url)s::VARCHAR, order_key=%(order_key)s, refusals=(issued_certificate.refusals + %(refusals_1)s::INTEGER) WHERE issued_certificate.name = %(of_name)s::VARCHAR AND issued_certificate.order_url = %(of_order)s::VARCHAR RETURNING issued_certificate.refusals',
    constants={'order_url': '', 'order_key': None, 'refusals_1': 1},
    types={'of_name': 'TEXT', 'of_order': 'TEXT'},
)
KEEP = Statement(
    sqlite='UPDATE issued_certificate SET chain=:chain_pem, until=:valid_until, "key"=issued_certificate.order_key, order_url=:order_url, order_key=:order_key, refusals=:refusals WHERE issued_certificate.name = :of_name AND issued_certificate.order_url = :of_order RETURNING name',
    postgresql='UPDATE issued_certificate SET chain=%(chain_pem)s, until=%(valid_until)s::BIGINT, key=issued_certificate.order_key, order_url=%(order_url)s::VARCHAR, order_key=%(order_key)s, refusals=%(refusals)s::INTEGER WHERE issued_certificate.name = %(of_name)s::VARCHAR AND issued_certificate.order_url = %(of_order)s::VARCHAR RETURNING issued_certificate.name',
    constants={'order_url': '', 'order_key': None, 'refusals': 0},
    types={'chain_pem': 'BYTEA', 'valid_until': 'BIGINT', 'of_name': 'TEXT', 'of_order': 'TEXT'},
)
WITHOUT = Statement(
    sqlite="""\
SELECT node.id
FROM node LEFT OUTER JOIN issued_certificate ON issued_certificate.node_id = node.id
WHERE issued_certificate.name IS NULL AND node.wanted != :wanted_1 ORDER BY node.id""",
    postgresql="""\
SELECT node.id
FROM node LEFT OUTER JOIN issued_certificate ON issued_certificate.node_id = node.id
WHERE issued_certificate.name IS NULL AND node.wanted != %(wanted_1)s::VARCHAR ORDER BY node.id""",
    constants={'wanted_1': 'deleted'},
)
ADD_ACCOUNT = Statement(
    sqlite='INSERT INTO issuer_account (directory, sealed) VALUES (:directory, :sealed) ON CONFLICT DO NOTHING',
    postgresql='INSERT INTO issuer_account (directory, sealed) VALUES (%(directory)s::VARCHAR, %(sealed)s) ON CONFLICT DO NOTHING',
    types={'directory': 'TEXT', 'sealed': 'BYTEA'},
)
ACCOUNT = Statement(
    sqlite="""\
SELECT issuer_account.sealed
FROM issuer_account
WHERE issuer_account.directory = :directory""",
    postgresql="""\
SELECT issuer_account.sealed
FROM issuer_account
WHERE issuer_account.directory = %(directory)s::VARCHAR""",
)
