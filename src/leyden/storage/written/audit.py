"""Made of sql/audit.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO audit (id, at, actor, organization_id, action, subject, detail) VALUES (:id, :at, :actor, :organization_id, :action, :subject, :detail)',
    postgresql='INSERT INTO audit (id, at, actor, organization_id, action, subject, detail) VALUES (%(id)s::VARCHAR, %(at)s::BIGINT, %(actor)s::VARCHAR, %(organization_id)s::VARCHAR, %(action)s::VARCHAR, %(subject)s::VARCHAR, %(detail)s::VARCHAR)',
    types={'id': 'TEXT', 'at': 'BIGINT', 'actor': 'TEXT', 'organization_id': 'TEXT', 'action': 'TEXT', 'subject': 'TEXT', 'detail': 'TEXT'},
)
LATEST = Statement(
    sqlite="""\
SELECT audit.id, audit.at, audit.actor, audit.organization_id, audit.action, audit.subject, audit.detail
FROM audit ORDER BY audit.at DESC
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT audit.id, audit.at, audit.actor, audit.organization_id, audit.action, audit.subject, audit.detail
FROM audit ORDER BY audit.at DESC
 LIMIT %(most)s""",
    constants={'param_1': 0},
)
OF_SUBJECT = Statement(
    sqlite="""\
SELECT audit.id, audit.at, audit.actor, audit.organization_id, audit.action, audit.subject, audit.detail
FROM audit
WHERE audit.organization_id = :organization_id AND audit.at >= :since AND audit.subject = :subject AND audit.action = :action ORDER BY audit.at DESC
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT audit.id, audit.at, audit.actor, audit.organization_id, audit.action, audit.subject, audit.detail
FROM audit
WHERE audit.organization_id = %(organization_id)s::VARCHAR AND audit.at >= %(since)s::BIGINT AND audit.subject = %(subject)s::VARCHAR AND audit.action = %(action)s::VARCHAR ORDER BY audit.at DESC
 LIMIT %(most)s""",
    constants={'param_1': 0},
)
