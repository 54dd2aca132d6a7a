"""Made of sql/sessions.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO session (id, digest, user_id, created, seen, expires, whole, address, browser) VALUES (:id, :digest, :user_id, :created, :seen, :expires, :whole, :address, :browser)',
    postgresql='INSERT INTO session (id, digest, user_id, created, seen, expires, whole, address, browser) VALUES (%(id)s::VARCHAR, %(digest)s, %(user_id)s::VARCHAR, %(created)s::BIGINT, %(seen)s::BIGINT, %(expires)s::BIGINT, %(whole)s::INTEGER, %(address)s::VARCHAR, %(browser)s::VARCHAR)',
    types={'id': 'TEXT', 'digest': 'BYTEA', 'user_id': 'TEXT', 'created': 'BIGINT', 'seen': 'BIGINT', 'expires': 'BIGINT', 'whole': 'INTEGER', 'address': 'TEXT', 'browser': 'TEXT'},
)
FIND = Statement(
    sqlite="""\
SELECT session.id, session.user_id, session.created, session.seen, session.expires, session.whole, session.address, session.browser
FROM session
WHERE session.digest = :digest""",
    postgresql="""\
SELECT session.id, session.user_id, session.created, session.seen, session.expires, session.whole, session.address, session.browser
FROM session
WHERE session.digest = %(digest)s""",
)
LIST = Statement(
    sqlite="""\
SELECT session.id, session.user_id, session.created, session.seen, session.expires, session.whole, session.address, session.browser
FROM session
WHERE session.user_id = :user_id ORDER BY session.seen DESC""",
    postgresql="""\
SELECT session.id, session.user_id, session.created, session.seen, session.expires, session.whole, session.address, session.browser
FROM session
WHERE session.user_id = %(user_id)s::VARCHAR ORDER BY session.seen DESC""",
)
SEEN = Statement(
    sqlite='UPDATE session SET seen=:now WHERE session.id = :session_id',
    postgresql='UPDATE session SET seen=%(now)s::BIGINT WHERE session.id = %(session_id)s::VARCHAR',
    types={'now': 'BIGINT', 'session_id': 'TEXT'},
)
END = Statement(
    sqlite='DELETE FROM session WHERE session.user_id = :user_id AND session.id = :session_id RETURNING id',
    postgresql='DELETE FROM session WHERE session.user_id = %(user_id)s::VARCHAR AND session.id = %(session_id)s::VARCHAR RETURNING session.id',
    types={'user_id': 'TEXT', 'session_id': 'TEXT'},
)
END_OTHERS = Statement(
    sqlite='DELETE FROM session WHERE session.user_id = :user_id AND session.id != :session_id',
    postgresql='DELETE FROM session WHERE session.user_id = %(user_id)s::VARCHAR AND session.id != %(session_id)s::VARCHAR',
    types={'user_id': 'TEXT', 'session_id': 'TEXT'},
)
BOUND = Statement(
    sqlite="""\
DELETE FROM session WHERE session.user_id = :whose AND (session.id NOT IN (SELECT session.id
FROM session
WHERE session.user_id = :whose ORDER BY session.seen DESC, session.created DESC, session.id
 LIMIT :kept OFFSET :param_1))""",
    postgresql="""\
DELETE FROM session WHERE session.user_id = %(whose)s::VARCHAR AND (session.id NOT IN (SELECT session.id
FROM session
WHERE session.user_id = %(whose)s::VARCHAR ORDER BY session.seen DESC, session.created DESC, session.id
 LIMIT %(kept)s::BIGINT))""",
    constants={'param_1': 0},
    types={'whose': 'TEXT', 'kept': 'BIGINT'},
)
FORGET = Statement(
    sqlite='DELETE FROM session WHERE session.expires < :now',
    postgresql='DELETE FROM session WHERE session.expires < %(now)s::BIGINT',
    types={'now': 'BIGINT'},
)
FAILED = Statement(
    sqlite='INSERT INTO sign_in_failure (who, since, count) VALUES (:who, :now, :count) ON CONFLICT (who) DO UPDATE SET since = CASE WHEN (sign_in_failure.since < :start) THEN excluded.since ELSE sign_in_failure.since END, count = CASE WHEN (sign_in_failure.since < :start) THEN :param_1 ELSE sign_in_failure.count + :count_1 END RETURNING count, since',
    postgresql='INSERT INTO sign_in_failure (who, since, count) VALUES (%(who)s, %(now)s::BIGINT, %(count)s::INTEGER) ON CONFLICT (who) DO UPDATE SET since = CASE WHEN (sign_in_failure.since < %(start)s::BIGINT) THEN excluded.since ELSE sign_in_failure.since END, count = CASE WHEN (sign_in_failure.since < %(start)s::BIGINT) THEN %(param_1)s::INTEGER ELSE sign_in_failure.count + %(count_1)s::INTEGER END RETURNING sign_in_failure.count, sign_in_failure.since',
    constants={'count': 1, 'param_1': 1, 'count_1': 1},
    types={'who': 'BYTEA', 'now': 'BIGINT', 'start': 'BIGINT'},
)
FORGIVE = Statement(
    sqlite='DELETE FROM sign_in_failure WHERE sign_in_failure.who = :who',
    postgresql='DELETE FROM sign_in_failure WHERE sign_in_failure.who = %(who)s',
    types={'who': 'BYTEA'},
)
TAKE_BACK = Statement(
    sqlite='UPDATE sign_in_failure SET count=(sign_in_failure.count - :attempts) WHERE sign_in_failure.who = :whose',
    postgresql='UPDATE sign_in_failure SET count=(sign_in_failure.count - %(attempts)s::BIGINT) WHERE sign_in_failure.who = %(whose)s',
    types={'attempts': 'BIGINT', 'whose': 'BYTEA'},
)
FORGET_FAILURES = Statement(
    sqlite='DELETE FROM sign_in_failure WHERE sign_in_failure.since < :start',
    postgresql='DELETE FROM sign_in_failure WHERE sign_in_failure.since < %(start)s::BIGINT',
    types={'start': 'BIGINT'},
)
