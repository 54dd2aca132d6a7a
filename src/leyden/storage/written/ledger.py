"""Made of sql/ledger.py by `leyden check --write`."""

from leyden.storage.statements import Statement

POST = Statement(
    sqlite='INSERT INTO entry ("key", at, what, source, target, sats, organization_id, order_id, actor, note) VALUES (:key, :at, :what, :source, :target, :sats, :organization_id, :order_id, :actor, :note)',
    postgresql='INSERT INTO entry (key, at, what, source, target, sats, organization_id, order_id, actor, note) VALUES (%(key)s::VARCHAR, %(at)s::BIGINT, %(what)s::VARCHAR, %(source)s::VARCHAR, %(target)s::VARCHAR, %(sats)s::BIGINT, %(organization_id)s::VARCHAR, %(order_id)s::VARCHAR, %(actor)s::VARCHAR, %(note)s::VARCHAR) RETURNING entry.id',
    types={'key': 'TEXT', 'at': 'BIGINT', 'what': 'TEXT', 'source': 'TEXT', 'target': 'TEXT', 'sats': 'BIGINT', 'organization_id': 'TEXT', 'order_id': 'TEXT', 'actor': 'TEXT', 'note': 'TEXT'},
)
RAISE = Statement(
    sqlite='INSERT INTO balance (place, sats) VALUES (:place, :change) ON CONFLICT (place) DO UPDATE SET sats = (balance.sats + excluded.sats)',
    postgresql='INSERT INTO balance (place, sats) VALUES (%(place)s::VARCHAR, %(change)s::BIGINT) ON CONFLICT (place) DO UPDATE SET sats = (balance.sats + excluded.sats)',
    types={'place': 'TEXT', 'change': 'BIGINT'},
)
REPAY = Statement(
    sqlite='UPDATE balance SET sats=(balance.sats + :by) WHERE balance.place = :at_place AND balance.sats <= -:by RETURNING sats',
    postgresql='UPDATE balance SET sats=(balance.sats + %(by)s::BIGINT) WHERE balance.place = %(at_place)s::VARCHAR AND balance.sats <= -%(by)s::BIGINT RETURNING balance.sats',
    types={'by': 'BIGINT', 'at_place': 'TEXT'},
)
LOWER = Statement(
    sqlite='UPDATE balance SET sats=(balance.sats - :by) WHERE balance.place = :at_place AND (:below_zero = :param_1 OR balance.sats >= :by) RETURNING sats',
    postgresql='UPDATE balance SET sats=(balance.sats - %(by)s::BIGINT) WHERE balance.place = %(at_place)s::VARCHAR AND (%(below_zero)s::BIGINT = %(param_1)s::BIGINT OR balance.sats >= %(by)s::BIGINT) RETURNING balance.sats',
    constants={'param_1': 1},
    types={'by': 'BIGINT', 'at_place': 'TEXT', 'below_zero': 'BIGINT'},
)
RELEASE = Statement(
    sqlite='UPDATE balance SET sats=(balance.sats - :by) WHERE balance.place = :at_place',
    postgresql='UPDATE balance SET sats=(balance.sats - %(by)s::BIGINT) WHERE balance.place = %(at_place)s::VARCHAR',
    types={'by': 'BIGINT', 'at_place': 'TEXT'},
)
BALANCE = Statement(
    sqlite="""\
SELECT balance.sats
FROM balance
WHERE balance.place = :place""",
    postgresql="""\
SELECT balance.sats
FROM balance
WHERE balance.place = %(place)s::VARCHAR""",
)
BALANCES = Statement(
    sqlite="""\
SELECT balance.place, balance.sats
FROM balance
WHERE balance.place IN (SELECT value FROM json_each(:places))""",
    postgresql="""\
SELECT balance.place, balance.sats
FROM balance
WHERE balance.place IN (SELECT jsonb_array_elements_text(CAST(%(places)s::VARCHAR AS jsonb)))""",
)
SUMS = Statement(
    sqlite="""\
SELECT anon_1.place, sum(anon_1.sats) AS sum_1
FROM (SELECT entry.target AS place, entry.sats AS sats
FROM entry UNION ALL SELECT entry.source AS place, -entry.sats AS sats
FROM entry) AS anon_1 GROUP BY anon_1.place""",
    postgresql="""\
SELECT anon_1.place, sum(anon_1.sats) AS sum_1
FROM (SELECT entry.target AS place, entry.sats AS sats
FROM entry UNION ALL SELECT entry.source AS place, -entry.sats AS sats
FROM entry) AS anon_1 GROUP BY anon_1.place""",
)
KEPT_BALANCES = Statement(
    sqlite="""\
SELECT balance.place, balance.sats
FROM balance""",
    postgresql="""\
SELECT balance.place, balance.sats
FROM balance""",
)
OF_ORDER = Statement(
    sqlite="""\
SELECT entry.id, entry."key", entry.at, entry.what, entry.source, entry.target, entry.sats, entry.organization_id, entry.order_id, entry.actor, entry.note
FROM entry
WHERE entry.order_id = :order_id ORDER BY entry.id""",
    postgresql="""\
SELECT entry.id, entry.key, entry.at, entry.what, entry.source, entry.target, entry.sats, entry.organization_id, entry.order_id, entry.actor, entry.note
FROM entry
WHERE entry.order_id = %(order_id)s::VARCHAR ORDER BY entry.id""",
)
FIND = Statement(
    sqlite="""\
SELECT entry.id, entry."key", entry.at, entry.what, entry.source, entry.target, entry.sats, entry.organization_id, entry.order_id, entry.actor, entry.note
FROM entry
WHERE entry."key" = :key""",
    postgresql="""\
SELECT entry.id, entry.key, entry.at, entry.what, entry.source, entry.target, entry.sats, entry.organization_id, entry.order_id, entry.actor, entry.note
FROM entry
WHERE entry.key = %(key)s::VARCHAR""",
)
PAGE = Statement(
    sqlite="""\
SELECT entry.id, entry."key", entry.at, entry.what, entry.source, entry.target, entry.sats, entry.organization_id, entry.order_id, entry.actor, entry.note
FROM entry
WHERE entry.organization_id = :organization_id AND entry.id < :before ORDER BY entry.id DESC
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT entry.id, entry.key, entry.at, entry.what, entry.source, entry.target, entry.sats, entry.organization_id, entry.order_id, entry.actor, entry.note
FROM entry
WHERE entry.organization_id = %(organization_id)s::VARCHAR AND entry.id < %(before)s::BIGINT ORDER BY entry.id DESC
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
