"""Made of sql/quotas.py by `leyden check --write`."""

from leyden.storage.statements import Statement

SET = Statement(
    sqlite='INSERT INTO organization_quota (organization_id, name, most) VALUES (:organization_id, :name, :most) ON CONFLICT (organization_id, name) DO UPDATE SET most = excluded.most',
    postgresql='INSERT INTO organization_quota (organization_id, name, most) VALUES (%(organization_id)s::VARCHAR, %(name)s::VARCHAR, %(most)s::BIGINT) ON CONFLICT (organization_id, name) DO UPDATE SET most = excluded.most',
    types={'organization_id': 'TEXT', 'name': 'TEXT', 'most': 'BIGINT'},
)
RESET = Statement(
    sqlite='DELETE FROM organization_quota WHERE organization_quota.organization_id = :organization_id AND organization_quota.name = :name',
    postgresql='DELETE FROM organization_quota WHERE organization_quota.organization_id = %(organization_id)s::VARCHAR AND organization_quota.name = %(name)s::VARCHAR',
    types={'organization_id': 'TEXT', 'name': 'TEXT'},
)
LIMITS = Statement(
    sqlite="""\
SELECT organization_quota.name, organization_quota.most
FROM organization_quota
WHERE organization_quota.organization_id = :organization_id""",
    postgresql="""\
SELECT organization_quota.name, organization_quota.most
FROM organization_quota
WHERE organization_quota.organization_id = %(organization_id)s::VARCHAR""",
)
NODES = Statement(
    sqlite="""\
SELECT coalesce(sum(CASE WHEN (node.wanted != :wanted_1 OR node.process != :process_1) THEN :param_1 ELSE :param_2 END), :coalesce_2) AS coalesce_1, count(*) AS count_1, min(CASE WHEN (NOT (node.wanted != :wanted_1 OR node.process != :process_1)) THEN node.due END) AS min_1
FROM node
WHERE node.organization_id = :organization_id AND node.slot IS NOT NULL""",
    postgresql="""\
SELECT coalesce(sum(CASE WHEN (node.wanted != %(wanted_1)s::VARCHAR OR node.process != %(process_1)s::VARCHAR) THEN %(param_1)s::INTEGER ELSE %(param_2)s::INTEGER END), %(coalesce_2)s::INTEGER) AS coalesce_1, count(*) AS count_1, min(CASE WHEN (NOT (node.wanted != %(wanted_1)s::VARCHAR OR node.process != %(process_1)s::VARCHAR)) THEN node.due END) AS min_1
FROM node
WHERE node.organization_id = %(organization_id)s::VARCHAR AND node.slot IS NOT NULL""",
    constants={'wanted_1': 'deleted', 'process_1': '', 'param_1': 1, 'param_2': 0, 'coalesce_2': 0},
)
UNPAID = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM channel_order
WHERE channel_order.organization_id = :organization_id AND channel_order.status = :status_1""",
    postgresql="""\
SELECT count(*) AS count_1
FROM channel_order
WHERE channel_order.organization_id = %(organization_id)s::VARCHAR AND channel_order.status = %(status_1)s::VARCHAR""",
    constants={'status_1': 'waiting_payment'},
)
GIVEN_UP = Statement(
    sqlite="""\
SELECT count(*) AS count_1, min(channel_order.created) AS min_1
FROM channel_order
WHERE channel_order.organization_id = :organization_id AND channel_order.created > :since AND channel_order.status = :status_1 AND channel_order.paid_at IS NULL AND channel_order.payment_hash IS NOT NULL""",
    postgresql="""\
SELECT count(*) AS count_1, min(channel_order.created) AS min_1
FROM channel_order
WHERE channel_order.organization_id = %(organization_id)s::VARCHAR AND channel_order.created > %(since)s::BIGINT AND channel_order.status = %(status_1)s::VARCHAR AND channel_order.paid_at IS NULL AND channel_order.payment_hash IS NOT NULL""",
    constants={'status_1': 'cancelled'},
)
PLACES = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM order_place
WHERE order_place.organization_id = :organization_id AND order_place.order_id != :but AND order_place.until > :now""",
    postgresql="""\
SELECT count(*) AS count_1
FROM order_place
WHERE order_place.organization_id = %(organization_id)s::VARCHAR AND order_place.order_id != %(but)s::VARCHAR AND order_place.until > %(now)s::BIGINT""",
)
KEEP_PLACE = Statement(
    sqlite='INSERT INTO order_place (order_id, organization_id, until) VALUES (:order_id, :organization_id, :until) ON CONFLICT (order_id) DO UPDATE SET until = excluded.until',
    postgresql='INSERT INTO order_place (order_id, organization_id, until) VALUES (%(order_id)s::VARCHAR, %(organization_id)s::VARCHAR, %(until)s::BIGINT) ON CONFLICT (order_id) DO UPDATE SET until = excluded.until',
    types={'order_id': 'TEXT', 'organization_id': 'TEXT', 'until': 'BIGINT'},
)
LEAVE_PLACE = Statement(
    sqlite='DELETE FROM order_place WHERE order_place.order_id = :order_id RETURNING order_id',
    postgresql='DELETE FROM order_place WHERE order_place.order_id = %(order_id)s::VARCHAR RETURNING order_place.order_id',
    types={'order_id': 'TEXT'},
)
FORGET_PLACES = Statement(
    sqlite='DELETE FROM order_place WHERE order_place.organization_id = :of AND order_place.until <= :now',
    postgresql='DELETE FROM order_place WHERE order_place.organization_id = %(of)s::VARCHAR AND order_place.until <= %(now)s::BIGINT',
    types={'of': 'TEXT', 'now': 'BIGINT'},
)
MEMBERS = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM membership
WHERE membership.organization_id = :organization_id""",
    postgresql="""\
SELECT count(*) AS count_1
FROM membership
WHERE membership.organization_id = %(organization_id)s::VARCHAR""",
)
MACAROONS = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM node_macaroon
WHERE node_macaroon.node_id = :node_id""",
    postgresql="""\
SELECT count(*) AS count_1
FROM node_macaroon
WHERE node_macaroon.node_id = %(node_id)s::VARCHAR""",
)
MOST_MACAROONS = Statement(
    sqlite="""\
SELECT coalesce(max(anon_1.kept), :coalesce_2) AS coalesce_1
FROM (SELECT count(*) AS kept
FROM node_macaroon JOIN node ON node.id = node_macaroon.node_id
WHERE node.organization_id = :organization_id GROUP BY node_macaroon.node_id) AS anon_1""",
    postgresql="""\
SELECT coalesce(max(anon_1.kept), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM (SELECT count(*) AS kept
FROM node_macaroon JOIN node ON node.id = node_macaroon.node_id
WHERE node.organization_id = %(organization_id)s::VARCHAR GROUP BY node_macaroon.node_id) AS anon_1""",
    constants={'coalesce_2': 0},
)
REPLACED = Statement(
    sqlite="""\
SELECT coalesce(sum(length(replaced_backup.sealed)), :coalesce_2) AS coalesce_1
FROM replaced_backup JOIN node ON node.id = replaced_backup.node_id
WHERE node.organization_id = :organization_id""",
    postgresql="""\
SELECT coalesce(sum(length(replaced_backup.sealed)), %(coalesce_2)s::INTEGER) AS coalesce_1
FROM replaced_backup JOIN node ON node.id = replaced_backup.node_id
WHERE node.organization_id = %(organization_id)s::VARCHAR""",
    constants={'coalesce_2': 0},
)
ANSWERS = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM (SELECT saved_answer."key" AS "key"
FROM saved_answer
WHERE saved_answer.organization_id = :organization_id AND saved_answer.expires > :now
 LIMIT :most OFFSET :param_1) AS anon_1""",
    postgresql="""\
SELECT count(*) AS count_1
FROM (SELECT saved_answer.key AS key
FROM saved_answer
WHERE saved_answer.organization_id = %(organization_id)s::VARCHAR AND saved_answer.expires > %(now)s::BIGINT
 LIMIT %(most)s::BIGINT) AS anon_1""",
    constants={'param_1': 0},
)
FIRST_ANSWER = Statement(
    sqlite="""\
SELECT min(saved_answer.expires) AS min_1
FROM saved_answer
WHERE saved_answer.organization_id = :organization_id AND saved_answer.expires > :now""",
    postgresql="""\
SELECT min(saved_answer.expires) AS min_1
FROM saved_answer
WHERE saved_answer.organization_id = %(organization_id)s::VARCHAR AND saved_answer.expires > %(now)s::BIGINT""",
)
