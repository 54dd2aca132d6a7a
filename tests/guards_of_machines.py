"""The guards of files, of nodes' logs, and of the egress policy; see mutations.py."""

from tests.guards import Guard

GUARDS = (
    Guard(
        "each draft of a file has a name of its own",
        "files.py",
        "{os.urandom(8).hex()}",
        "{os.getpid():016x}",
        "tests/test_files.py",
    ),
    Guard(
        "a draft that is still written is left alone",
        "files.py",
        "if time.time() - written >= _ABANDONED_S:",
        "if time.time() >= written:",
        "tests/test_files.py",
    ),
    Guard(
        "starts at the same time share one copy of a program",
        "app/programs.py",
        "(copying := under_way.get(copy)) is None",
        "(copying := None) is None",
        "tests/app/test_programs.py",
    ),
    Guard(
        "what is told of a log is kept with how far it was read",
        "services/housekeeping.py",
        "                await self._places.keep(tx, node, news.place)\n",
        "                self._places.note(node, news.place)\n",
        "tests/services/test_logs_read.py",
    ),
    Guard(
        "a log is read on from one place by one (WHERE edition =)",
        "storage/sql/log_places.py",
        '    .where(log_places.c.edition == bindparam("was"))\n',
        '    .where(bindparam("was") > 0)\n',
        "tests/services/test_logs_read.py",
    ),
    Guard(
        "who has read on from a place of before tells nothing",
        "services/log_places.py",
        "if not await tx.log_places.move(node.id, place, was=known.kept.edition):",
        "if await tx.log_places.move(node.id, place, was=known.kept.edition) is None:",
        "tests/services/test_logs_read.py",
    ),
    Guard(
        "logs of nodes from before are read from the end",
        "storage/migrations/versions/0012_log_places.py",
        "sa.literal(-1)",
        "sa.literal(0)",
        "tests/storage/test_schema.py",
    ),
    Guard(
        "a log is known by its first bytes too",
        "lnd/tail.py",
        "        and os.pread(log.fileno(), len(place.head), 0) == place.head\n",
        "",
        "tests/lnd/test_tail.py",
    ),
    Guard(
        "of a log that went on without us no more is read than is known to be quick",
        "lnd/tail.py",
        "+ size - start - MOST_BEHIND",
        "- 10**18",
        "tests/lnd/test_tail.py",
    ),
    Guard(
        "an old log that is being packed is read as it was",
        "lnd/rotated.py",
        "sorted(entries, reverse=True)",
        "sorted(entries)",
        "tests/lnd/test_tail.py",
    ),
)
