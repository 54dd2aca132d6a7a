"""Made of sql/second_factors.py by `leyden check --write`."""

from leyden.storage.statements import Statement

TOTP = Statement(
    sqlite="""\
SELECT totp.sealed, totp.confirmed, totp.last_step
FROM totp
WHERE totp.user_id = :user_id""",
    postgresql="""\
SELECT totp.sealed, totp.confirmed, totp.last_step
FROM totp
WHERE totp.user_id = %(user_id)s::VARCHAR""",
)
KEEP = Statement(
    sqlite='INSERT INTO totp (user_id, sealed, confirmed, last_step) VALUES (:user_id, :sealed, :confirmed, :last_step)',
    postgresql='INSERT INTO totp (user_id, sealed, confirmed, last_step) VALUES (%(user_id)s::VARCHAR, %(sealed)s, %(confirmed)s::BIGINT, %(last_step)s::BIGINT)',
    types={'user_id': 'TEXT', 'sealed': 'BYTEA', 'confirmed': 'BIGINT', 'last_step': 'BIGINT'},
)
KEEP_TOTP = Statement(
    sqlite='INSERT INTO totp (user_id, sealed, confirmed, last_step) VALUES (:user_id, :sealed, :confirmed, :last_step) ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, last_step = excluded.last_step WHERE totp.confirmed IS NULL',
    postgresql='INSERT INTO totp (user_id, sealed, confirmed, last_step) VALUES (%(user_id)s::VARCHAR, %(sealed)s, %(confirmed)s::BIGINT, %(last_step)s::BIGINT) ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, last_step = excluded.last_step WHERE totp.confirmed IS NULL',
    types={'user_id': 'TEXT', 'sealed': 'BYTEA', 'confirmed': 'BIGINT', 'last_step': 'BIGINT'},
)
CONFIRM = Statement(
    sqlite='UPDATE totp SET confirmed=:now WHERE totp.user_id = :of AND totp.confirmed IS NULL',
    postgresql='UPDATE totp SET confirmed=%(now)s::BIGINT WHERE totp.user_id = %(of)s::VARCHAR AND totp.confirmed IS NULL',
    types={'now': 'BIGINT', 'of': 'TEXT'},
)
USE_STEP = Statement(
    sqlite='UPDATE totp SET last_step=:step WHERE totp.user_id = :of AND totp.last_step < :step RETURNING user_id',
    postgresql='UPDATE totp SET last_step=%(step)s::BIGINT WHERE totp.user_id = %(of)s::VARCHAR AND totp.last_step < %(step)s::BIGINT RETURNING totp.user_id',
    types={'step': 'BIGINT', 'of': 'TEXT'},
)
REMOVE_TOTP = Statement(
    sqlite='DELETE FROM totp WHERE totp.user_id = :user_id',
    postgresql='DELETE FROM totp WHERE totp.user_id = %(user_id)s::VARCHAR',
    types={'user_id': 'TEXT'},
)
ADD = Statement(
    sqlite='INSERT INTO passkey (id, user_id, name, public_key, sign_count, created, last_used) VALUES (:id, :user_id, :name, :public_key, :sign_count, :created, :last_used) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO passkey (id, user_id, name, public_key, sign_count, created, last_used) VALUES (%(id)s, %(user_id)s::VARCHAR, %(name)s::VARCHAR, %(public_key)s, %(sign_count)s::BIGINT, %(created)s::BIGINT, %(last_used)s::BIGINT) ON CONFLICT DO NOTHING RETURNING passkey.id',
    types={'id': 'BYTEA', 'user_id': 'TEXT', 'name': 'TEXT', 'public_key': 'BYTEA', 'sign_count': 'BIGINT', 'created': 'BIGINT', 'last_used': 'BIGINT'},
)
FIND = Statement(
    sqlite="""\
SELECT passkey.id, passkey.user_id, passkey.name, passkey.public_key, passkey.sign_count, passkey.created, passkey.last_used
FROM passkey
WHERE passkey.id = :id""",
    postgresql="""\
SELECT passkey.id, passkey.user_id, passkey.name, passkey.public_key, passkey.sign_count, passkey.created, passkey.last_used
FROM passkey
WHERE passkey.id = %(id)s""",
)
LIST = Statement(
    sqlite="""\
SELECT passkey.id, passkey.user_id, passkey.name, passkey.public_key, passkey.sign_count, passkey.created, passkey.last_used
FROM passkey
WHERE passkey.user_id = :user_id ORDER BY passkey.created""",
    postgresql="""\
SELECT passkey.id, passkey.user_id, passkey.name, passkey.public_key, passkey.sign_count, passkey.created, passkey.last_used
FROM passkey
WHERE passkey.user_id = %(user_id)s::VARCHAR ORDER BY passkey.created""",
)
USED = Statement(
    sqlite='UPDATE passkey SET sign_count=:sign_count, last_used=:now WHERE passkey.id = :passkey_id RETURNING id',
    postgresql='UPDATE passkey SET sign_count=%(sign_count)s::BIGINT, last_used=%(now)s::BIGINT WHERE passkey.id = %(passkey_id)s RETURNING passkey.id',
    types={'sign_count': 'BIGINT', 'now': 'BIGINT', 'passkey_id': 'BYTEA'},
)
REMOVE = Statement(
    sqlite='DELETE FROM passkey WHERE passkey.user_id = :user_id AND passkey.id = :passkey_id RETURNING id',
    postgresql='DELETE FROM passkey WHERE passkey.user_id = %(user_id)s::VARCHAR AND passkey.id = %(passkey_id)s RETURNING passkey.id',
    types={'user_id': 'TEXT', 'passkey_id': 'BYTEA'},
)
REMOVE_PASSKEYS = Statement(
    sqlite='DELETE FROM passkey WHERE passkey.user_id = :user_id',
    postgresql='DELETE FROM passkey WHERE passkey.user_id = %(user_id)s::VARCHAR',
    types={'user_id': 'TEXT'},
)
USE_CHALLENGE = Statement(
    sqlite='INSERT INTO used_challenge (challenge, until) VALUES (:challenge, :until) ON CONFLICT DO NOTHING RETURNING challenge',
    postgresql='INSERT INTO used_challenge (challenge, until) VALUES (%(challenge)s, %(until)s::BIGINT) ON CONFLICT DO NOTHING RETURNING used_challenge.challenge',
    types={'challenge': 'BYTEA', 'until': 'BIGINT'},
)
FORGET_CHALLENGES = Statement(
    sqlite='DELETE FROM used_challenge WHERE used_challenge.until < :now',
    postgresql='DELETE FROM used_challenge WHERE used_challenge.until < %(now)s::BIGINT',
    types={'now': 'BIGINT'},
)
