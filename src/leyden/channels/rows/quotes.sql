-- The newest quote for each channel that an organization requested.

-- name: keep
INSERT INTO quote (
    organization_id, wish, quoted, rate_bps, rate_fixed, service_fee, pool_fee,
    self_chan_balance_fee, keeps_unused_fee, source
)
VALUES (
    :organization_id, :wish, :quoted, :rate_bps, :rate_fixed, :service_fee, :pool_fee,
    :self_chan_balance_fee, :keeps_unused_fee, :source
)
ON CONFLICT (organization_id, wish) DO UPDATE
SET quoted = excluded.quoted,
    rate_bps = excluded.rate_bps,
    rate_fixed = excluded.rate_fixed,
    service_fee = excluded.service_fee,
    pool_fee = excluded.pool_fee,
    self_chan_balance_fee = excluded.self_chan_balance_fee,
    keeps_unused_fee = excluded.keeps_unused_fee,
    source = excluded.source;

-- name: find
SELECT
    quoted,
    rate_bps,
    rate_fixed,
    service_fee,
    pool_fee,
    self_chan_balance_fee,
    keeps_unused_fee,
    source
FROM quote
WHERE organization_id = :organization_id
    AND wish = :wish;

-- name: delete
DELETE FROM quote
WHERE quoted <= :until;
