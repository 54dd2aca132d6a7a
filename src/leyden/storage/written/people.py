"""Made of sql/people.py by `leyden check --write`."""

from leyden.storage.statements import Statement

GET = Statement(
    sqlite="""\
SELECT person.id, person.email, person.created
FROM person
WHERE person.id = :user_id""",
    postgresql="""\
SELECT person.id, person.email, person.created
FROM person
WHERE person.id = %(user_id)s::VARCHAR""",
)
LOCK = Statement(
    sqlite="""\
SELECT person.id, person.email, person.created
FROM person
WHERE person.id = :user_id""",
    postgresql="""\
SELECT person.id, person.email, person.created
FROM person
WHERE person.id = %(user_id)s::VARCHAR FOR UPDATE""",
)
PASSWORD = Statement(
    sqlite="""\
SELECT person.id, person.email, person.created, person.password
FROM person
WHERE person.email = :email""",
    postgresql="""\
SELECT person.id, person.email, person.created, person.password
FROM person
WHERE person.email = %(email)s::VARCHAR""",
)
BELONGS = Statement(
    sqlite="""\
SELECT organization.id, organization.name, organization.created, membership.role
FROM membership JOIN organization ON organization.id = membership.organization_id
WHERE membership.user_id = :user_id ORDER BY membership.created, organization.id""",
    postgresql="""\
SELECT organization.id, organization.name, organization.created, membership.role
FROM membership JOIN organization ON organization.id = membership.organization_id
WHERE membership.user_id = %(user_id)s::VARCHAR ORDER BY membership.created, organization.id""",
)
MEMBERS = Statement(
    sqlite="""\
SELECT person.id, person.email, person.created, membership.role, membership.created AS created_1
FROM membership JOIN person ON person.id = membership.user_id
WHERE membership.organization_id = :organization_id ORDER BY membership.created, person.id""",
    postgresql="""\
SELECT person.id, person.email, person.created, membership.role, membership.created AS created_1
FROM membership JOIN person ON person.id = membership.user_id
WHERE membership.organization_id = %(organization_id)s::VARCHAR ORDER BY membership.created, person.id""",
)
ROLE = Statement(
    sqlite="""\
SELECT membership.role
FROM membership
WHERE membership.organization_id = :organization_id AND membership.user_id = :user_id""",
    postgresql="""\
SELECT membership.role
FROM membership
WHERE membership.organization_id = %(organization_id)s::VARCHAR AND membership.user_id = %(user_id)s::VARCHAR""",
)
COUNT_OWNERS = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM membership
WHERE membership.organization_id = :organization_id AND membership.role = :role_1""",
    postgresql="""\
SELECT count(*) AS count_1
FROM membership
WHERE membership.organization_id = %(organization_id)s::VARCHAR AND membership.role = %(role_1)s::VARCHAR""",
    constants={'role_1': 'owner'},
)
LEAVE = Statement(
    sqlite='DELETE FROM membership WHERE membership.organization_id = :organization_id AND membership.user_id = :user_id RETURNING user_id',
    postgresql='DELETE FROM membership WHERE membership.organization_id = %(organization_id)s::VARCHAR AND membership.user_id = %(user_id)s::VARCHAR RETURNING membership.user_id',
    types={'organization_id': 'TEXT', 'user_id': 'TEXT'},
)
IS_OPERATOR = Statement(
    sqlite="""\
SELECT EXISTS (SELECT *
FROM operator
WHERE operator.user_id = :user_id) AS anon_1""",
    postgresql="""\
SELECT EXISTS (SELECT *
FROM operator
WHERE operator.user_id = %(user_id)s::VARCHAR) AS anon_1""",
)
MAKE_OPERATOR = Statement(
    sqlite='INSERT INTO operator (user_id, created) VALUES (:user_id, :created) ON CONFLICT DO NOTHING',
    postgresql='INSERT INTO operator (user_id, created) VALUES (%(user_id)s::VARCHAR, %(created)s::BIGINT) ON CONFLICT DO NOTHING',
    types={'user_id': 'TEXT', 'created': 'BIGINT'},
)
UNMAKE_OPERATOR = Statement(
    sqlite='DELETE FROM operator WHERE operator.user_id = :user_id',
    postgresql='DELETE FROM operator WHERE operator.user_id = %(user_id)s::VARCHAR',
    types={'user_id': 'TEXT'},
)
