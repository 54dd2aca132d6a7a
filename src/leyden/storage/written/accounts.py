"""Made of sql/accounts.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD_ORGANIZATION = Statement(
    sqlite='INSERT INTO organization (id, name, created) VALUES (:id, :name, :created) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO organization (id, name, created) VALUES (%(id)s::VARCHAR, %(name)s::VARCHAR, %(created)s::BIGINT) ON CONFLICT DO NOTHING RETURNING organization.id',
    types={'id': 'TEXT', 'name': 'TEXT', 'created': 'BIGINT'},
)
GET_ORGANIZATION = Statement(
    sqlite="""\
SELECT organization.id, organization.name, organization.created
FROM organization
WHERE organization.id = :id""",
    postgresql="""\
SELECT organization.id, organization.name, organization.created
FROM organization
WHERE organization.id = %(id)s::VARCHAR""",
)
LOCK_ORGANIZATION = Statement(
    sqlite="""\
SELECT organization.id
FROM organization
WHERE organization.id = :id""",
    postgresql="""\
SELECT organization.id
FROM organization
WHERE organization.id = %(id)s::VARCHAR FOR UPDATE""",
)
REACH = Statement(
    sqlite="""\
SELECT organization.id
FROM organization
 LIMIT :param_1 OFFSET :param_2""",
    postgresql="""\
SELECT organization.id
FROM organization
 LIMIT %(param_1)s::INTEGER""",
    constants={'param_1': 1, 'param_2': 0},
)
LIST_ORGANIZATIONS = Statement(
    sqlite="""\
SELECT organization.id, organization.name, organization.created
FROM organization ORDER BY organization.created""",
    postgresql="""\
SELECT organization.id, organization.name, organization.created
FROM organization ORDER BY organization.created""",
)
ADD_PERSON = Statement(
    sqlite='INSERT INTO person (id, email, password, created) VALUES (:id, :email, :password, :created) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO person (id, email, password, created) VALUES (%(id)s::VARCHAR, %(email)s::VARCHAR, %(password)s::VARCHAR, %(created)s::BIGINT) ON CONFLICT DO NOTHING RETURNING person.id',
    types={'id': 'TEXT', 'email': 'TEXT', 'password': 'TEXT', 'created': 'BIGINT'},
)
FIND_PERSON = Statement(
    sqlite="""\
SELECT person.id, person.email, person.created
FROM person
WHERE person.email = :email""",
    postgresql="""\
SELECT person.id, person.email, person.created
FROM person
WHERE person.email = %(email)s::VARCHAR""",
)
LIST_PEOPLE = Statement(
    sqlite="""\
SELECT person.id, person.email, person.created
FROM person ORDER BY person.created""",
    postgresql="""\
SELECT person.id, person.email, person.created
FROM person ORDER BY person.created""",
)
SET_PASSWORD = Statement(
    sqlite='UPDATE person SET password=:password WHERE person.id = :user_id RETURNING id',
    postgresql='UPDATE person SET password=%(password)s::VARCHAR WHERE person.id = %(user_id)s::VARCHAR RETURNING person.id',
    types={'password': 'TEXT', 'user_id': 'TEXT'},
)
JOIN = Statement(
    sqlite='INSERT INTO membership (organization_id, user_id, role, created) VALUES (:organization_id, :user_id, :role, :created) ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role',
    postgresql='INSERT INTO membership (organization_id, user_id, role, created) VALUES (%(organization_id)s::VARCHAR, %(user_id)s::VARCHAR, %(role)s::VARCHAR, %(created)s::BIGINT) ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role',
    types={'organization_id': 'TEXT', 'user_id': 'TEXT', 'role': 'TEXT', 'created': 'BIGINT'},
)
LIST_MEMBERS = Statement(
    sqlite="""\
SELECT membership.organization_id, membership.user_id, membership.role, membership.created
FROM membership
WHERE membership.organization_id = :organization_id ORDER BY membership.created""",
    postgresql="""\
SELECT membership.organization_id, membership.user_id, membership.role, membership.created
FROM membership
WHERE membership.organization_id = %(organization_id)s::VARCHAR ORDER BY membership.created""",
)
