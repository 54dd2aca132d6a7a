"""Made of sql/orders.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO channel_order (id, organization_id, status, created, expires, capacity, self_chan_balance, lease_duration_blocks, node_tier, bps, rate_bps, rate_fixed, service_fee, pool_fee, self_chan_balance_fee, credit_used, charged, credit_refund, paid_at, onchain_address, lightning_invoice, payment_hash, invoice_state, accepted, offered, ticket_ref, sealed_ticket, order_nonce) VALUES (:id, :organization_id, :status, :created, :expires, :capacity, :self_chan_balance, :lease_duration_blocks, :node_tier, :bps, :rate_bps, :rate_fixed, :service_fee, :pool_fee, :self_chan_balance_fee, :credit_used, :charged, :credit_refund, :paid_at, :onchain_address, :lightning_invoice, :payment_hash, :invoice_state, :accepted, :offered, :ticket_ref, :sealed_ticket, :order_nonce) ON CONFLICT DO NOTHING RETURNING id',
    postgresql='INSERT INTO channel_order (id, organization_id, status, created, expires, capacity, self_chan_balance, lease_duration_blocks, node_tier, bps, rate_bps, rate_fixed, service_fee, pool_fee, self_chan_balance_fee, credit_used, charged, credit_refund, paid_at, onchain_address, lightning_invoice, payment_hash, invoice_state, accepted, offered, ticket_ref, sealed_ticket, order_nonce) VALUES (%(id)s::VARCHAR, %(organization_id)s::VARCHAR, %(status)s::VARCHAR, %(created)s::BIGINT, %(expires)s::BIGINT, %(capacity)s::BIGINT, %(self_chan_balance)s::BIGINT, %(lease_duration_blocks)s::INTEGER, %(node_tier)s::VARCHAR, %(bps)s::INTEGER, %(rate_bps)s::INTEGER, %(rate_fixed)s::BIGINT, %(service_fee)s::BIGINT, %(pool_fee)s::BIGINT, %(self_chan_balance_fee)s::BIGINT, %(credit_used)s::BIGINT, %(charged)s::BIGINT, %(credit_refund)s::BIGINT, %(paid_at)s::BIGINT, %(onchain_address)s::VARCHAR, %(lightning_invoice)s::VARCHAR, %(payment_hash)s::VARCHAR, %(invoice_state)s::VARCHAR, %(accepted)s::BIGINT, %(offered)s::INTEGER, %(ticket_ref)s::VARCHAR, %(sealed_ticket)s, %(order_nonce)s::VARCHAR) ON CONFLICT DO NOTHING RETURNING channel_order.id',
    types={'id': 'TEXT', 'organization_id': 'TEXT', 'status': 'TEXT', 'created': 'BIGINT', 'expires': 'BIGINT', 'capacity': 'BIGINT', 'self_chan_balance': 'BIGINT', 'lease_duration_blocks': 'INTEGER', 'node_tier': 'TEXT', 'bps': 'INTEGER', 'rate_bps': 'INTEGER', 'rate_fixed': 'BIGINT', 'service_fee': 'BIGINT', 'pool_fee': 'BIGINT', 'self_chan_balance_fee': 'BIGINT', 'credit_used': 'BIGINT', 'charged': 'BIGINT', 'credit_refund': 'BIGINT', 'paid_at': 'BIGINT', 'onchain_address': 'TEXT', 'lightning_invoice': 'TEXT', 'payment_hash': 'TEXT', 'invoice_state': 'TEXT', 'accepted': 'BIGINT', 'offered': 'INTEGER', 'ticket_ref': 'TEXT', 'sealed_ticket': 'BYTEA', 'order_nonce': 'TEXT'},
)
GET = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id = :order_id""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id = %(order_id)s::VARCHAR""",
)
GET_MANY = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id IN (SELECT value FROM json_each(:order_ids))""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id IN (SELECT jsonb_array_elements_text(CAST(%(order_ids)s::VARCHAR AS jsonb)))""",
)
LOCK_MANY = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id IN (SELECT value FROM json_each(:order_ids)) ORDER BY channel_order.id""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id IN (SELECT jsonb_array_elements_text(CAST(%(order_ids)s::VARCHAR AS jsonb))) ORDER BY channel_order.id FOR UPDATE""",
)
PAID_TO = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.onchain_address IN (SELECT value FROM json_each(:addresses))""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.onchain_address IN (SELECT jsonb_array_elements_text(CAST(%(addresses)s::VARCHAR AS jsonb)))""",
)
INVOICED = Statement(
    sqlite="""\
SELECT channel_order.payment_hash, channel_order.id, channel_order.invoice_state
FROM channel_order
WHERE channel_order.payment_hash IN (SELECT value FROM json_each(:hashes))""",
    postgresql="""\
SELECT channel_order.payment_hash, channel_order.id, channel_order.invoice_state
FROM channel_order
WHERE channel_order.payment_hash IN (SELECT jsonb_array_elements_text(CAST(%(hashes)s::VARCHAR AS jsonb)))""",
)
SAVE = Statement(
    sqlite='UPDATE channel_order SET status=:status, credit_refund=:credit_refund, paid_at=:paid_at, invoice_state=:invoice_state, accepted=:accepted, offered=:offered, ticket_ref=:ticket_ref, sealed_ticket=:sealed_ticket, order_nonce=:order_nonce WHERE channel_order.id = :order_id AND channel_order.status = :was',
    postgresql='UPDATE channel_order SET status=%(status)s::VARCHAR, credit_refund=%(credit_refund)s::BIGINT, paid_at=%(paid_at)s::BIGINT, invoice_state=%(invoice_state)s::VARCHAR, accepted=%(accepted)s::BIGINT, offered=%(offered)s::INTEGER, ticket_ref=%(ticket_ref)s::VARCHAR, sealed_ticket=%(sealed_ticket)s, order_nonce=%(order_nonce)s::VARCHAR WHERE channel_order.id = %(order_id)s::VARCHAR AND channel_order.status = %(was)s::VARCHAR',
    types={'status': 'TEXT', 'credit_refund': 'BIGINT', 'paid_at': 'BIGINT', 'invoice_state': 'TEXT', 'accepted': 'BIGINT', 'offered': 'INTEGER', 'ticket_ref': 'TEXT', 'sealed_ticket': 'BYTEA', 'order_nonce': 'TEXT', 'order_id': 'TEXT', 'was': 'TEXT'},
)
PAGE = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.organization_id = :organization_id AND (channel_order.created, channel_order.id) < (:created, :id) ORDER BY channel_order.created DESC, channel_order.id DESC
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.organization_id = %(organization_id)s::VARCHAR AND (channel_order.created, channel_order.id) < (%(created)s::BIGINT, %(id)s::VARCHAR) ORDER BY channel_order.created DESC, channel_order.id DESC
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
IN_STATUS = {
'waiting_payment': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'waiting_payment' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'waiting_payment' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'expired': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'expired' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'expired' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'creating': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'creating' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'creating' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'created': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'created' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'created' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'submitted': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'submitted' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'submitted' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'filled': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'filled' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'filled' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'failed': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'failed' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'failed' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'cancelled': Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'cancelled' AND channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'cancelled' AND channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
}
PAYABLE = {
'waiting_payment': Statement(
    sqlite="""\
SELECT channel_order.id, ((channel_order.service_fee + channel_order.pool_fee + channel_order.self_chan_balance_fee) - channel_order.credit_used) - channel_order.charged AS anon_1, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash
FROM channel_order
WHERE channel_order.status = 'waiting_payment' AND channel_order.id > :after AND channel_order.payment_hash IS NOT NULL ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, ((channel_order.service_fee + channel_order.pool_fee + channel_order.self_chan_balance_fee) - channel_order.credit_used) - channel_order.charged AS anon_1, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash
FROM channel_order
WHERE channel_order.status = 'waiting_payment' AND channel_order.id > %(after)s::VARCHAR AND channel_order.payment_hash IS NOT NULL ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
'creating': Statement(
    sqlite="""\
SELECT channel_order.id, ((channel_order.service_fee + channel_order.pool_fee + channel_order.self_chan_balance_fee) - channel_order.credit_used) - channel_order.charged AS anon_1, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash
FROM channel_order
WHERE channel_order.status = 'creating' AND channel_order.id > :after AND channel_order.payment_hash IS NOT NULL ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, ((channel_order.service_fee + channel_order.pool_fee + channel_order.self_chan_balance_fee) - channel_order.credit_used) - channel_order.charged AS anon_1, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash
FROM channel_order
WHERE channel_order.status = 'creating' AND channel_order.id > %(after)s::VARCHAR AND channel_order.payment_hash IS NOT NULL ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
),
}
TICKETED_SINCE = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'created' AND channel_order.paid_at > :since ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.status = 'created' AND channel_order.paid_at > %(since)s::BIGINT ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
ALL = Statement(
    sqlite="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id > :after ORDER BY channel_order.id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT channel_order.id, channel_order.organization_id, channel_order.status, channel_order.created, channel_order.expires, channel_order.capacity, channel_order.self_chan_balance, channel_order.lease_duration_blocks, channel_order.node_tier, channel_order.bps, channel_order.rate_bps, channel_order.rate_fixed, channel_order.service_fee, channel_order.pool_fee, channel_order.self_chan_balance_fee, channel_order.credit_used, channel_order.charged, channel_order.credit_refund, channel_order.paid_at, channel_order.onchain_address, channel_order.lightning_invoice, channel_order.payment_hash, channel_order.invoice_state, channel_order.accepted, channel_order.offered, channel_order.ticket_ref, channel_order.sealed_ticket, channel_order.order_nonce
FROM channel_order
WHERE channel_order.id > %(after)s::VARCHAR ORDER BY channel_order.id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
MAY_TAKE = Statement(
    sqlite='coalesce(sum(channel_order.pool_fee + channel_order.self_chan_balance), 0)',
    postgresql='coalesce(sum(channel_order.pool_fee + channel_order.self_chan_balance), 0)',
)
CREATED_TAKE = Statement(
    sqlite="""\
SELECT coalesce(sum(channel_order.pool_fee + channel_order.self_chan_balance), 0) AS coalesce_1
FROM channel_order
WHERE channel_order.status = 'created'""",
    postgresql="""\
SELECT coalesce(sum(channel_order.pool_fee + channel_order.self_chan_balance), 0) AS coalesce_1
FROM channel_order
WHERE channel_order.status = 'created'""",
)
CREATING_TAKE = Statement(
    sqlite="""\
SELECT coalesce(sum(channel_order.pool_fee + channel_order.self_chan_balance), 0) AS coalesce_1
FROM channel_order
WHERE channel_order.status = 'creating' AND (channel_order.paid_at, channel_order.id) < (:paid_at, :id)""",
    postgresql="""\
SELECT coalesce(sum(channel_order.pool_fee + channel_order.self_chan_balance), 0) AS coalesce_1
FROM channel_order
WHERE channel_order.status = 'creating' AND (channel_order.paid_at, channel_order.id) < (%(paid_at)s::BIGINT, %(id)s::VARCHAR)""",
)
