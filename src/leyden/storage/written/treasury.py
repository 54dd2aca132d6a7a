"""Made of sql/treasury.py by `leyden check --write`."""

from leyden.storage.statements import Statement

ADD = Statement(
    sqlite='INSERT INTO treasury (id, pubkey, stranger) VALUES (:id, :pubkey, :stranger) ON CONFLICT DO NOTHING',
    postgresql='INSERT INTO treasury (id, pubkey, stranger) VALUES (%(id)s::INTEGER, %(pubkey)s::VARCHAR, %(stranger)s::VARCHAR) ON CONFLICT DO NOTHING',
    constants={'id': 1, 'stranger': ''},
    types={'pubkey': 'TEXT'},
)
FIND = Statement(
    sqlite="""\
SELECT treasury.pubkey, treasury.stranger
FROM treasury""",
    postgresql="""\
SELECT treasury.pubkey, treasury.stranger
FROM treasury""",
)
TAKE = Statement(
    sqlite='UPDATE treasury SET pubkey=:known, stranger=:stranger',
    postgresql='UPDATE treasury SET pubkey=%(known)s::VARCHAR, stranger=%(stranger)s::VARCHAR',
    constants={'stranger': ''},
    types={'known': 'TEXT'},
)
NOTICE = Statement(
    sqlite='UPDATE treasury SET stranger=:found',
    postgresql='UPDATE treasury SET stranger=%(found)s::VARCHAR',
    types={'found': 'TEXT'},
)
