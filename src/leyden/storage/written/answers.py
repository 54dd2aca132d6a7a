"""Made of sql/answers.py by `leyden check --write`."""

from leyden.storage.statements import Statement

FORGET = Statement(
    sqlite='DELETE FROM saved_answer WHERE saved_answer.organization_id = :of AND saved_answer."key" = :under AND saved_answer.expires <= :now',
    postgresql='DELETE FROM saved_answer WHERE saved_answer.organization_id = %(of)s::VARCHAR AND saved_answer.key = %(under)s AND saved_answer.expires <= %(now)s::BIGINT',
    types={'of': 'TEXT', 'under': 'BYTEA', 'now': 'BIGINT'},
)
CLAIM = Statement(
    sqlite='INSERT INTO saved_answer (organization_id, "key", request, started, expires, holder, status, body) VALUES (:of, :under, :request, :now, :expires, :holder, :status, :body) ON CONFLICT DO NOTHING RETURNING "key"',
    postgresql='INSERT INTO saved_answer (organization_id, key, request, started, expires, holder, status, body) VALUES (%(of)s::VARCHAR, %(under)s, %(request)s, %(now)s::BIGINT, %(expires)s::BIGINT, %(holder)s::VARCHAR, %(status)s::INTEGER, %(body)s) ON CONFLICT DO NOTHING RETURNING saved_answer.key',
    constants={'status': None, 'body': None},
    types={'of': 'TEXT', 'under': 'BYTEA', 'request': 'BYTEA', 'now': 'BIGINT', 'expires': 'BIGINT', 'holder': 'TEXT'},
)
GET = Statement(
    sqlite="""\
SELECT saved_answer.request, saved_answer.status, saved_answer.body, saved_answer.holder, saved_answer.started
FROM saved_answer
WHERE saved_answer.organization_id = :of AND saved_answer."key" = :under""",
    postgresql="""\
SELECT saved_answer.request, saved_answer.status, saved_answer.body, saved_answer.holder, saved_answer.started
FROM saved_answer
WHERE saved_answer.organization_id = %(of)s::VARCHAR AND saved_answer.key = %(under)s""",
)
TAKE_OVER = Statement(
    sqlite='UPDATE saved_answer SET started=:now, holder=:holder WHERE saved_answer.organization_id = :of AND saved_answer."key" = :under AND saved_answer.status IS NULL AND saved_answer.holder = :before RETURNING "key"',
    postgresql='UPDATE saved_answer SET started=%(now)s::BIGINT, holder=%(holder)s::VARCHAR WHERE saved_answer.organization_id = %(of)s::VARCHAR AND saved_answer.key = %(under)s AND saved_answer.status IS NULL AND saved_answer.holder = %(before)s::VARCHAR RETURNING saved_answer.key',
    types={'now': 'BIGINT', 'holder': 'TEXT', 'of': 'TEXT', 'under': 'BYTEA', 'before': 'TEXT'},
)
RENEW = Statement(
    sqlite='UPDATE saved_answer SET started=:now WHERE saved_answer.organization_id = :of AND saved_answer."key" = :under AND saved_answer.status IS NULL AND saved_answer.holder = :holder RETURNING "key"',
    postgresql='UPDATE saved_answer SET started=%(now)s::BIGINT WHERE saved_answer.organization_id = %(of)s::VARCHAR AND saved_answer.key = %(under)s AND saved_answer.status IS NULL AND saved_answer.holder = %(holder)s::VARCHAR RETURNING saved_answer.key',
    types={'now': 'BIGINT', 'of': 'TEXT', 'under': 'BYTEA', 'holder': 'TEXT'},
)
SAVE = Statement(
    sqlite='UPDATE saved_answer SET status=:status, body=:body WHERE saved_answer.organization_id = :of AND saved_answer."key" = :under AND saved_answer.holder = :holder',
    postgresql='UPDATE saved_answer SET status=%(status)s::INTEGER, body=%(body)s WHERE saved_answer.organization_id = %(of)s::VARCHAR AND saved_answer.key = %(under)s AND saved_answer.holder = %(holder)s::VARCHAR',
    types={'status': 'INTEGER', 'body': 'BYTEA', 'of': 'TEXT', 'under': 'BYTEA', 'holder': 'TEXT'},
)
DROP = Statement(
    sqlite='DELETE FROM saved_answer WHERE saved_answer.organization_id = :of AND saved_answer."key" = :under AND saved_answer.holder = :holder',
    postgresql='DELETE FROM saved_answer WHERE saved_answer.organization_id = %(of)s::VARCHAR AND saved_answer.key = %(under)s AND saved_answer.holder = %(holder)s::VARCHAR',
    types={'of': 'TEXT', 'under': 'BYTEA', 'holder': 'TEXT'},
)
FORGET_ALL = Statement(
    sqlite='DELETE FROM saved_answer WHERE saved_answer.expires <= :now',
    postgresql='DELETE FROM saved_answer WHERE saved_answer.expires <= %(now)s::BIGINT',
    types={'now': 'BIGINT'},
)
