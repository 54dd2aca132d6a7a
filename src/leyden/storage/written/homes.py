"""Made of sql/homes.py by `leyden check --write`."""

from leyden.storage.statements import Statement

FIND = Statement(
    sqlite="""\
SELECT home.identity, home.authority, home.place, home.host
FROM home""",
    postgresql="""\
SELECT home.identity, home.authority, home.place, home.host
FROM home""",
)
LOCK = Statement(
    sqlite="""\
SELECT home.identity, home.authority, home.place, home.host
FROM home""",
    postgresql="""\
SELECT home.identity, home.authority, home.place, home.host
FROM home FOR UPDATE""",
)
ADD = Statement(
    sqlite='INSERT INTO home (id, identity, authority, place, host) VALUES (:id, :identity, :authority, :place, :host) ON CONFLICT DO NOTHING',
    postgresql='INSERT INTO home (id, identity, authority, place, host) VALUES (%(id)s::INTEGER, %(identity)s::VARCHAR, %(authority)s::VARCHAR, %(place)s::VARCHAR, %(host)s::VARCHAR) ON CONFLICT DO NOTHING',
    constants={'id': 1},
    types={'identity': 'TEXT', 'authority': 'TEXT', 'place': 'TEXT', 'host': 'TEXT'},
)
TAKE = Statement(
    sqlite='UPDATE home SET identity=:new_identity, authority=:new_authority, place=:new_place, host=:new_host',
    postgresql='UPDATE home SET identity=%(new_identity)s::VARCHAR, authority=%(new_authority)s::VARCHAR, place=%(new_place)s::VARCHAR, host=%(new_host)s::VARCHAR',
    types={'new_identity': 'TEXT', 'new_authority': 'TEXT', 'new_place': 'TEXT', 'new_host': 'TEXT'},
)
IS_OURS = Statement(
    sqlite="""\
EXISTS (SELECT home.id
FROM home
WHERE home.identity = :home_identity AND home.place = :home_place)""",
    postgresql="""\
EXISTS (SELECT home.id
FROM home
WHERE home.identity = %(home_identity)s::VARCHAR AND home.place = %(home_place)s::VARCHAR)""",
)
END_CLAIMS = Statement(
    sqlite='UPDATE task SET lease=:lease, fence=(task.fence + :fence_1), holder=:holder WHERE task.kind IN (SELECT value FROM json_each(:kinds))',
    postgresql='UPDATE task SET lease=%(lease)s::BIGINT, fence=(task.fence + %(fence_1)s::BIGINT), holder=%(holder)s::VARCHAR WHERE task.kind IN (SELECT jsonb_array_elements_text(CAST(%(kinds)s::VARCHAR AS jsonb)))',
    constants={'lease': 0, 'fence_1': 1, 'holder': ''},
    types={'kinds': 'TEXT'},
)
PROCESSES = Statement(
    sqlite="""\
SELECT process.id, process.session, process.host, process.pid, process.beat, process.until
FROM process ORDER BY process.id""",
    postgresql="""\
SELECT process.id, process.session, process.host, process.pid, process.beat, process.until
FROM process ORDER BY process.id""",
)
ENTER = Statement(
    sqlite='INSERT INTO process (id, session, host, pid, watches, beat, until) VALUES (:id, :session, :host, :pid, :watches, :beat, :until)',
    postgresql='INSERT INTO process (id, session, host, pid, watches, beat, until) VALUES (%(id)s::VARCHAR, %(session)s::VARCHAR, %(host)s::VARCHAR, %(pid)s::INTEGER, %(watches)s::INTEGER, %(beat)s::BIGINT, %(until)s::BIGINT)',
    constants={'beat': 0},
    types={'id': 'TEXT', 'session': 'TEXT', 'host': 'TEXT', 'pid': 'INTEGER', 'watches': 'INTEGER', 'until': 'BIGINT'},
)
BEAT = Statement(
    sqlite="""\
UPDATE process SET beat=(process.beat + :beat_1), until=:next_until WHERE process.id = :process_id AND (EXISTS (SELECT home.id
FROM home
WHERE home.identity = :home_identity AND home.place = :home_place)) RETURNING beat""",
    postgresql="""\
UPDATE process SET beat=(process.beat + %(beat_1)s::BIGINT), until=%(next_until)s::BIGINT WHERE process.id = %(process_id)s::VARCHAR AND (EXISTS (SELECT home.id
FROM home
WHERE home.identity = %(home_identity)s::VARCHAR AND home.place = %(home_place)s::VARCHAR)) RETURNING process.beat""",
    constants={'beat_1': 1},
    types={'next_until': 'BIGINT', 'process_id': 'TEXT', 'home_identity': 'TEXT', 'home_place': 'TEXT'},
)
LEAVE = Statement(
    sqlite='DELETE FROM process WHERE process.id = :process_id',
    postgresql='DELETE FROM process WHERE process.id = %(process_id)s::VARCHAR',
    types={'process_id': 'TEXT'},
)
FORGET_SILENT = Statement(
    sqlite='DELETE FROM process WHERE process.id = :process_id AND process.beat = :seen',
    postgresql='DELETE FROM process WHERE process.id = %(process_id)s::VARCHAR AND process.beat = %(seen)s::BIGINT',
    types={'process_id': 'TEXT', 'seen': 'BIGINT'},
)
FORGET_OLD = Statement(
    sqlite='DELETE FROM process WHERE process.until < :before',
    postgresql='DELETE FROM process WHERE process.until < %(before)s::BIGINT',
    types={'before': 'BIGINT'},
)
FORGET_ALL = Statement(
    sqlite='DELETE FROM process',
    postgresql='DELETE FROM process',
)
WATCHING = Statement(
    sqlite="""\
SELECT count(*) AS count_1
FROM process
WHERE process.watches = :watches_1 AND process.until > :now""",
    postgresql="""\
SELECT count(*) AS count_1
FROM process
WHERE process.watches = %(watches_1)s::INTEGER AND process.until > %(now)s::BIGINT""",
    constants={'watches_1': 1},
)
