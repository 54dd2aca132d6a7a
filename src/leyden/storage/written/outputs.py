"""Made of sql/outputs.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO chain_output (txid, vout, order_id, sats, state, seen, bookings, to_order) VALUES (:txid, :vout, :order_id, :sats, :state, :seen, :bookings, :to_order)',
    postgresql='INSERT INTO chain_output (txid, vout, order_id, sats, state, seen, bookings, to_order) VALUES (%(txid)s::VARCHAR, %(vout)s::INTEGER, %(order_id)s::VARCHAR, %(sats)s::BIGINT, %(state)s::VARCHAR, %(seen)s::BIGINT, %(bookings)s::INTEGER, %(to_order)s::BIGINT)',
    types={'txid': 'TEXT', 'vout': 'INTEGER', 'order_id': 'TEXT', 'sats': 'BIGINT', 'state': 'TEXT', 'seen': 'BIGINT', 'bookings': 'INTEGER', 'to_order': 'BIGINT'},
)
OF_ORDERS = Statement(
    sqlite="""\
SELECT chain_output.txid, chain_output.vout, chain_output.order_id, chain_output.sats, chain_output.state, chain_output.seen, chain_output.bookings, chain_output.to_order
FROM chain_output
WHERE chain_output.order_id IN (SELECT value FROM json_each(:order_ids))""",
    postgresql="""\
SELECT chain_output.txid, chain_output.vout, chain_output.order_id, chain_output.sats, chain_output.state, chain_output.seen, chain_output.bookings, chain_output.to_order
FROM chain_output
WHERE chain_output.order_id IN (SELECT jsonb_array_elements_text(CAST(%(order_ids)s::VARCHAR AS jsonb)))""",
)
SAVE = Statement(
    sqlite='UPDATE chain_output SET state=:state, bookings=:bookings, to_order=:to_order WHERE chain_output.txid = :of_txid AND chain_output.vout = :of_vout AND chain_output.state = :was',
    postgresql='UPDATE chain_output SET state=%(state)s::VARCHAR, bookings=%(bookings)s::INTEGER, to_order=%(to_order)s::BIGINT WHERE chain_output.txid = %(of_txid)s::VARCHAR AND chain_output.vout = %(of_vout)s::INTEGER AND chain_output.state = %(was)s::VARCHAR',
    types={'state': 'TEXT', 'bookings': 'INTEGER', 'to_order': 'BIGINT', 'of_txid': 'TEXT', 'of_vout': 'INTEGER', 'was': 'TEXT'},
)
OF_ORDER = Statement(
    sqlite="""\
SELECT chain_output.txid, chain_output.vout, chain_output.order_id, chain_output.sats, chain_output.state, chain_output.seen, chain_output.bookings, chain_output.to_order
FROM chain_output
WHERE chain_output.order_id = :order_id ORDER BY chain_output.seen, chain_output.txid, chain_output.vout""",
    postgresql="""\
SELECT chain_output.txid, chain_output.vout, chain_output.order_id, chain_output.sats, chain_output.state, chain_output.seen, chain_output.bookings, chain_output.to_order
FROM chain_output
WHERE chain_output.order_id = %(order_id)s::VARCHAR ORDER BY chain_output.seen, chain_output.txid, chain_output.vout""",
)
WATCHED = Statement(
    sqlite="""\
SELECT DISTINCT chain_output.order_id
FROM chain_output
WHERE chain_output.state IN ('seen', 'booked') AND chain_output.order_id > :after ORDER BY chain_output.order_id
 LIMIT :most OFFSET :param_1""",
    postgresql="""\
SELECT DISTINCT chain_output.order_id
FROM chain_output
WHERE chain_output.state IN ('seen', 'booked') AND chain_output.order_id > %(after)s::VARCHAR ORDER BY chain_output.order_id
 LIMIT %(most)s::BIGINT""",
    constants={'param_1': 0},
)
