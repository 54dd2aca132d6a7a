"""Made of sql/quotes.py by `leyden check --write`."""

from leyden.storage.statements import Statement

KEEP = Statement(
    sqlite='INSERT INTO quote (organization_id, wish, quoted, rate_bps, rate_fixed, service_fee, pool_fee, self_chan_balance_fee) VALUES (:organization_id, :wish, :quoted, :rate_bps, :rate_fixed, :service_fee, :pool_fee, :self_chan_balance_fee) ON CONFLICT (organization_id, wish) DO UPDATE SET quoted = excluded.quoted, rate_bps = excluded.rate_bps, rate_fixed = excluded.rate_fixed, service_fee = excluded.service_fee, pool_fee = excluded.pool_fee, self_chan_balance_fee = excluded.self_chan_balance_fee',
    postgresql='INSERT INTO quote (organization_id, wish, quoted, rate_bps, rate_fixed, service_fee, pool_fee, self_chan_balance_fee) VALUES (%(organization_id)s::VARCHAR, %(wish)s::VARCHAR, %(quoted)s::BIGINT, %(rate_bps)s::INTEGER, %(rate_fixed)s::BIGINT, %(service_fee)s::BIGINT, %(pool_fee)s::BIGINT, %(self_chan_balance_fee)s::BIGINT) ON CONFLICT (organization_id, wish) DO UPDATE SET quoted = excluded.quoted, rate_bps = excluded.rate_bps, rate_fixed = excluded.rate_fixed, service_fee = excluded.service_fee, pool_fee = excluded.pool_fee, self_chan_balance_fee = excluded.self_chan_balance_fee',
    types={'organization_id': 'TEXT', 'wish': 'TEXT', 'quoted': 'BIGINT', 'rate_bps': 'INTEGER', 'rate_fixed': 'BIGINT', 'service_fee': 'BIGINT', 'pool_fee': 'BIGINT', 'self_chan_balance_fee': 'BIGINT'},
)
FIND = Statement(
    sqlite="""\
SELECT quote.quoted, quote.rate_bps, quote.rate_fixed, quote.service_fee, quote.pool_fee, quote.self_chan_balance_fee
FROM quote
WHERE quote.organization_id = :organization_id AND quote.wish = :wish""",
    postgresql="""\
SELECT quote.quoted, quote.rate_bps, quote.rate_fixed, quote.service_fee, quote.pool_fee, quote.self_chan_balance_fee
FROM quote
WHERE quote.organization_id = %(organization_id)s::VARCHAR AND quote.wish = %(wish)s::VARCHAR""",
)
FORGET = Statement(
    sqlite='DELETE FROM quote WHERE quote.quoted <= :until',
    postgresql='DELETE FROM quote WHERE quote.quoted <= %(until)s::BIGINT',
    types={'until': 'BIGINT'},
)
