"""Made of sql/invitations.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO invitation (id, organization_id, email, role, digest, created, expires, ended) VALUES (:id, :organization_id, :email, :role, :digest, :created, :expires, :ended)',
    postgresql='INSERT INTO invitation (id, organization_id, email, role, digest, created, expires, ended) VALUES (%(id)s::VARCHAR, %(organization_id)s::VARCHAR, %(email)s::VARCHAR, %(role)s::VARCHAR, %(digest)s, %(created)s::BIGINT, %(expires)s::BIGINT, %(ended)s::BIGINT)',
    types={'id': 'TEXT', 'organization_id': 'TEXT', 'email': 'TEXT', 'role': 'TEXT', 'digest': 'BYTEA', 'created': 'BIGINT', 'expires': 'BIGINT', 'ended': 'BIGINT'},
)
OPEN = Statement(
    sqlite="""\
SELECT invitation.id, invitation.organization_id, invitation.email, invitation.role, invitation.created, invitation.expires, invitation.ended
FROM invitation
WHERE invitation.ended IS NULL AND invitation.expires > :now""",
    postgresql="""\
SELECT invitation.id, invitation.organization_id, invitation.email, invitation.role, invitation.created, invitation.expires, invitation.ended
FROM invitation
WHERE invitation.ended IS NULL AND invitation.expires > %(now)s::BIGINT""",
)
FIND = Statement(
    sqlite="""\
SELECT invitation.id, invitation.organization_id, invitation.email, invitation.role, invitation.created, invitation.expires, invitation.ended
FROM invitation
WHERE invitation.ended IS NULL AND invitation.expires > :now AND invitation.digest = :digest""",
    postgresql="""\
SELECT invitation.id, invitation.organization_id, invitation.email, invitation.role, invitation.created, invitation.expires, invitation.ended
FROM invitation
WHERE invitation.ended IS NULL AND invitation.expires > %(now)s::BIGINT AND invitation.digest = %(digest)s""",
)
LIST = Statement(
    sqlite="""\
SELECT invitation.id, invitation.organization_id, invitation.email, invitation.role, invitation.created, invitation.expires, invitation.ended
FROM invitation
WHERE invitation.ended IS NULL AND invitation.expires > :now AND invitation.organization_id = :organization_id ORDER BY invitation.created""",
    postgresql="""\
SELECT invitation.id, invitation.organization_id, invitation.email, invitation.role, invitation.created, invitation.expires, invitation.ended
FROM invitation
WHERE invitation.ended IS NULL AND invitation.expires > %(now)s::BIGINT AND invitation.organization_id = %(organization_id)s::VARCHAR ORDER BY invitation.created""",
)
END = Statement(
    sqlite='UPDATE invitation SET ended=:now WHERE invitation.organization_id = :of AND invitation.id = :invitation_id AND invitation.ended IS NULL RETURNING id',
    postgresql='UPDATE invitation SET ended=%(now)s::BIGINT WHERE invitation.organization_id = %(of)s::VARCHAR AND invitation.id = %(invitation_id)s::VARCHAR AND invitation.ended IS NULL RETURNING invitation.id',
    types={'now': 'BIGINT', 'of': 'TEXT', 'invitation_id': 'TEXT'},
)
FORGET_ENDED = Statement(
    sqlite='DELETE FROM invitation WHERE invitation.organization_id = :of AND (invitation.ended IS NOT NULL OR invitation.expires <= :now)',
    postgresql='DELETE FROM invitation WHERE invitation.organization_id = %(of)s::VARCHAR AND (invitation.ended IS NOT NULL OR invitation.expires <= %(now)s::BIGINT)',
    types={'of': 'TEXT', 'now': 'BIGINT'},
)
END_FOR = Statement(
    sqlite='UPDATE invitation SET ended=:now WHERE invitation.organization_id = :of AND invitation.email = :whose AND invitation.ended IS NULL RETURNING id',
    postgresql='UPDATE invitation SET ended=%(now)s::BIGINT WHERE invitation.organization_id = %(of)s::VARCHAR AND invitation.email = %(whose)s::VARCHAR AND invitation.ended IS NULL RETURNING invitation.id',
    types={'now': 'BIGINT', 'of': 'TEXT', 'whose': 'TEXT'},
)
