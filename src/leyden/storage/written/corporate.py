"""Made of sql/corporate.py by `leyden check --write`."""

from leyden.storage.statements import Statement

SET = Statement(
    sqlite='INSERT INTO corporate_account (organization_id, most_owed, since) VALUES (:organization_id, :most_owed, :since) ON CONFLICT (organization_id) DO UPDATE SET most_owed = excluded.most_owed',
    postgresql='INSERT INTO corporate_account (organization_id, most_owed, since) VALUES (%(organization_id)s::VARCHAR, %(most_owed)s::BIGINT, %(since)s::BIGINT) ON CONFLICT (organization_id) DO UPDATE SET most_owed = excluded.most_owed',
    types={'organization_id': 'TEXT', 'most_owed': 'BIGINT', 'since': 'BIGINT'},
)
END = Statement(
    sqlite='DELETE FROM corporate_account WHERE corporate_account.organization_id = :of',
    postgresql='DELETE FROM corporate_account WHERE corporate_account.organization_id = %(of)s::VARCHAR',
    types={'of': 'TEXT'},
)
LIMIT = Statement(
    sqlite="""\
SELECT corporate_account.most_owed
FROM corporate_account
WHERE corporate_account.organization_id = :organization_id""",
    postgresql="""\
SELECT corporate_account.most_owed
FROM corporate_account
WHERE corporate_account.organization_id = %(organization_id)s::VARCHAR""",
)
