"""Made of sql/keys.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO api_key (id, organization_id, name, hint, digest, scopes, created, expires, last_used, revoked) VALUES (:id, :organization_id, :name, :hint, :digest, :scopes, :created, :expires, :last_used, :revoked) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO api_key (id, organization_id, name, hint, digest, scopes, created, expires, last_used, revoked) VALUES (%(id)s::VARCHAR, %(organization_id)s::VARCHAR, %(name)s::VARCHAR, %(hint)s::VARCHAR, %(digest)s, %(scopes)s::VARCHAR, %(created)s::BIGINT, %(expires)s::BIGINT, %(last_used)s::BIGINT, %(revoked)s::BIGINT) ON CONFLICT DO NOTHING RETURNING api_key.id',
    types={'id': 'TEXT', 'organization_id': 'TEXT', 'name': 'TEXT', 'hint': 'TEXT', 'digest': 'BYTEA', 'scopes': 'TEXT', 'created': 'BIGINT', 'expires': 'BIGINT', 'last_used': 'BIGINT', 'revoked': 'BIGINT'},
)
SPEAKER = Statement(
    sqlite="""\
SELECT api_key.organization_id, api_key.id, api_key.scopes, api_key.expires
FROM api_key
WHERE api_key.digest = :digest AND api_key.revoked IS NULL""",
    postgresql="""\
SELECT api_key.organization_id, api_key.id, api_key.scopes, api_key.expires
FROM api_key
WHERE api_key.digest = %(digest)s AND api_key.revoked IS NULL""",
)
LIST = Statement(
    sqlite="""\
SELECT api_key.id, api_key.organization_id, api_key.name, api_key.hint, api_key.scopes, api_key.created, api_key.expires, api_key.last_used, api_key.revoked
FROM api_key
WHERE api_key.organization_id = :organization_id ORDER BY api_key.created""",
    postgresql="""\
SELECT api_key.id, api_key.organization_id, api_key.name, api_key.hint, api_key.scopes, api_key.created, api_key.expires, api_key.last_used, api_key.revoked
FROM api_key
WHERE api_key.organization_id = %(organization_id)s::VARCHAR ORDER BY api_key.created""",
)
COUNT_LIVE = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM api_key
WHERE api_key.organization_id = :organization_id AND api_key.revoked IS NULL AND (api_key.expires IS NULL OR api_key.expires > :now)""",
    postgresql="""\
SELECT count(*) AS count_1
FROM api_key
WHERE api_key.organization_id = %(organization_id)s::VARCHAR AND api_key.revoked IS NULL AND (api_key.expires IS NULL OR api_key.expires > %(now)s::BIGINT)""",
)
FORGET_ENDED = Statement(
    sqlite="""\
DELETE FROM api_key WHERE api_key.organization_id = :of AND (api_key.revoked IS NOT NULL OR api_key.expires <= :now) AND (api_key.id NOT IN (SELECT api_key.id
FROM api_key
WHERE api_key.organization_id = :of AND (api_key.revoked IS NOT NULL OR api_key.expires <= :now) ORDER BY coalesce(api_key.revoked, api_key.expires) DESC, api_key.id
 LIMIT :kept OFFSET :param_1))""",
    postgresql="""\
DELETE FROM api_key WHERE api_key.organization_id = %(of)s::VARCHAR AND (api_key.revoked IS NOT NULL OR api_key.expires <= %(now)s::BIGINT) AND (api_key.id NOT IN (SELECT api_key.id
FROM api_key
WHERE api_key.organization_id = %(of)s::VARCHAR AND (api_key.revoked IS NOT NULL OR api_key.expires <= %(now)s::BIGINT) ORDER BY coalesce(api_key.revoked, api_key.expires) DESC, api_key.id
 LIMIT %(kept)s::BIGINT))""",
    constants={'param_1': 0},
    types={'of': 'TEXT', 'now': 'BIGINT', 'kept': 'BIGINT'},
)
REVOKE = Statement(
    sqlite='UPDATE api_key SET revoked=:now WHERE api_key.organization_id = :of AND api_key.id = :key_id AND api_key.revoked IS NULL RETURNING id',
    postgresql='UPDATE api_key SET revoked=%(now)s::BIGINT WHERE api_key.organization_id = %(of)s::VARCHAR AND api_key.id = %(key_id)s::VARCHAR AND api_key.revoked IS NULL RETURNING api_key.id',
    types={'now': 'BIGINT', 'of': 'TEXT', 'key_id': 'TEXT'},
)
USED = Statement(
    sqlite='UPDATE api_key SET last_used=:used WHERE api_key.id = :key_id AND (api_key.last_used IS NULL OR api_key.last_used < :used)',
    postgresql='UPDATE api_key SET last_used=%(used)s::BIGINT WHERE api_key.id = %(key_id)s::VARCHAR AND (api_key.last_used IS NULL OR api_key.last_used < %(used)s::BIGINT)',
    types={'used': 'BIGINT', 'key_id': 'TEXT'},
)
