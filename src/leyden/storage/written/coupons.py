"""Made of sql/coupons.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO coupon (id, sats, organization_id, created, expires, note, claimed_by, claimed_at) VALUES (:id, :sats, :organization_id, :created, :expires, :note, :claimed_by, :claimed_at)',
    postgresql='INSERT INTO coupon (id, sats, organization_id, created, expires, note, claimed_by, claimed_at) VALUES (%(id)s::VARCHAR, %(sats)s::BIGINT, %(organization_id)s::VARCHAR, %(created)s::BIGINT, %(expires)s::BIGINT, %(note)s::VARCHAR, %(claimed_by)s::VARCHAR, %(claimed_at)s::BIGINT)',
    constants={'claimed_by': None, 'claimed_at': None},
    types={'id': 'TEXT', 'sats': 'BIGINT', 'organization_id': 'TEXT', 'created': 'BIGINT', 'expires': 'BIGINT', 'note': 'TEXT'},
)
CLAIM = Statement(
    sqlite='UPDATE coupon SET claimed_by=:claimant, claimed_at=:now WHERE coupon.id = :coupon_id AND coupon.claimed_by IS NULL AND (coupon.organization_id IS NULL OR coupon.organization_id = :claimant) AND (coupon.expires IS NULL OR coupon.expires > :now) RETURNING sats',
    postgresql='UPDATE coupon SET claimed_by=%(claimant)s::VARCHAR, claimed_at=%(now)s::BIGINT WHERE coupon.id = %(coupon_id)s::VARCHAR AND coupon.claimed_by IS NULL AND (coupon.organization_id IS NULL OR coupon.organization_id = %(claimant)s::VARCHAR) AND (coupon.expires IS NULL OR coupon.expires > %(now)s::BIGINT) RETURNING coupon.sats',
    types={'claimant': 'TEXT', 'now': 'BIGINT', 'coupon_id': 'TEXT'},
)
LIST = Statement(
    sqlite="""\
SELECT coupon.id, coupon.sats, coupon.organization_id, coupon.created, coupon.expires, coupon.note, coupon.claimed_by, coupon.claimed_at
FROM coupon
WHERE coupon.organization_id = :organization_id OR coupon.claimed_by = :organization_id ORDER BY coupon.created, coupon.id""",
    postgresql="""\
SELECT coupon.id, coupon.sats, coupon.organization_id, coupon.created, coupon.expires, coupon.note, coupon.claimed_by, coupon.claimed_at
FROM coupon
WHERE coupon.organization_id = %(organization_id)s::VARCHAR OR coupon.claimed_by = %(organization_id)s::VARCHAR ORDER BY coupon.created, coupon.id""",
)
ALL = Statement(
    sqlite="""\
SELECT coupon.id, coupon.sats, coupon.organization_id, coupon.created, coupon.expires, coupon.note, coupon.claimed_by, coupon.claimed_at
FROM coupon
WHERE coupon.id > :after ORDER BY coupon.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT coupon.id, coupon.sats, coupon.organization_id, coupon.created, coupon.expires, coupon.note, coupon.claimed_by, coupon.claimed_at
FROM coupon
WHERE coupon.id > %(after)s::VARCHAR ORDER BY coupon.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
GUESSED = Statement(
    sqlite='INSERT INTO coupon_guess (organization_id, since, count) VALUES (:organization_id, :now, :count) ON CONFLICT (organization_id) DO UPDATE SET since = CASE WHEN (coupon_guess.since < :start) THEN excluded.since ELSE coupon_guess.since END, count = CASE WHEN (coupon_guess.since < :start) THEN :param_1 ELSE coupon_guess.count + :count_1 END',
    postgresql='INSERT INTO coupon_guess (organization_id, since, count) VALUES (%(organization_id)s::VARCHAR, %(now)s::BIGINT, %(count)s::INTEGER) ON CONFLICT (organization_id) DO UPDATE SET since = CASE WHEN (coupon_guess.since < %(start)s::BIGINT) THEN excluded.since ELSE coupon_guess.since END, count = CASE WHEN (coupon_guess.since < %(start)s::BIGINT) THEN %(param_1)s::INTEGER ELSE coupon_guess.count + %(count_1)s::INTEGER END',
    constants={'count': 1, 'param_1': 1, 'count_1': 1},
    types={'organization_id': 'TEXT', 'now': 'BIGINT', 'start': 'BIGINT'},
)
GUESSES = Statement(
    sqlite="""\
SELECT coupon_guess.count, coupon_guess.since
FROM coupon_guess
WHERE coupon_guess.organization_id = :organization_id AND coupon_guess.since >= :start""",
    postgresql="""\
SELECT coupon_guess.count, coupon_guess.since
FROM coupon_guess
WHERE coupon_guess.organization_id = %(organization_id)s::VARCHAR AND coupon_guess.since >= %(start)s::BIGINT""",
)
