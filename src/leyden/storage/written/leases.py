"""Made of sql/leases.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO lease (order_id, at, channel_point, premium, execution_fee, chain_fee, self_chan_balance) VALUES (:order_id, :at, :channel_point, :premium, :execution_fee, :chain_fee, :self_chan_balance)',
    postgresql='INSERT INTO lease (order_id, at, channel_point, premium, execution_fee, chain_fee, self_chan_balance) VALUES (%(order_id)s::VARCHAR, %(at)s::BIGINT, %(channel_point)s::VARCHAR, %(premium)s::BIGINT, %(execution_fee)s::BIGINT, %(chain_fee)s::BIGINT, %(self_chan_balance)s::BIGINT)',
    types={'order_id': 'TEXT', 'at': 'BIGINT', 'channel_point': 'TEXT', 'premium': 'BIGINT', 'execution_fee': 'BIGINT', 'chain_fee': 'BIGINT', 'self_chan_balance': 'BIGINT'},
)
OF_ORDERS = Statement(
    sqlite="""\
SELECT lease.order_id, lease.channel_point, lease.premium, lease.execution_fee, lease.chain_fee, lease.self_chan_balance
FROM lease
WHERE lease.order_id IN (SELECT value FROM json_each(:order_ids))""",
    postgresql="""\
SELECT lease.order_id, lease.channel_point, lease.premium, lease.execution_fee, lease.chain_fee, lease.self_chan_balance
FROM lease
WHERE lease.order_id IN (SELECT jsonb_array_elements_text(CAST(%(order_ids)s::VARCHAR AS jsonb)))""",
)
