"""Made of sql/moves.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO order_move (order_id, at, "before", "after") VALUES (:order_id, :at, :before, :after)',
    postgresql='INSERT INTO order_move (order_id, at, before, after) VALUES (%(order_id)s::VARCHAR, %(at)s::BIGINT, %(before)s::VARCHAR, %(after)s::VARCHAR) RETURNING order_move.id',
    types={'order_id': 'TEXT', 'at': 'BIGINT', 'before': 'TEXT', 'after': 'TEXT'},
)
OF_ORDER = Statement(
    sqlite="""\
SELECT order_move."before", order_move."after"
FROM order_move
WHERE order_move.order_id = :order_id ORDER BY order_move.id""",
    postgresql="""\
SELECT order_move.before, order_move.after
FROM order_move
WHERE order_move.order_id = %(order_id)s::VARCHAR ORDER BY order_move.id""",
)
TIMELINE = Statement(
    sqlite="""\
SELECT order_move."after", order_move.at
FROM order_move
WHERE order_move.order_id = :order_id ORDER BY order_move.id""",
    postgresql="""\
SELECT order_move.after, order_move.at
FROM order_move
WHERE order_move.order_id = %(order_id)s::VARCHAR ORDER BY order_move.id""",
)
