"""The guards of answers that are kept, and of reads that leave together."""

from tests.guards import Guard

_KNOWN = "tests/api/nodes/test_known.py"
_WORST = "tests/web/test_worst_cases.py"
_FLOWS = "tests/storage/test_postgres_connections.py"

GUARDS = (
    Guard(
        "a log is read beside the event loop",
        "runtimes/local_homes.py",
        "return await asyncio.to_thread(self._log, node, lines)",
        "return self._log(node, lines)",
        "tests/runtimes/test_local.py",
        "beside_the_loop",
    ),
    Guard(
        "a log is filtered beside the event loop",
        "web/log.py",
        "found = await asyncio.to_thread(\n        matching, lines,",
        "found = matching(\n        lines,",
        _WORST,
        "a_long_log",
    ),
    Guard(
        "a log becomes a file beside the event loop",
        "web/log.py",
        "await asyncio.to_thread(_file, lines)",
        "_file(lines)",
        _WORST,
        "a_long_log",
    ),
    Guard(
        "an answer is kept until somebody commits",
        "services/shared/response_cache.py",
        "            self._forget()\n            self._edition = edition",
        "            self._edition = edition",
        f"{_KNOWN} tests/services/test_kept_answers.py",
    ),
    Guard(
        "an answer that was begun before a commit is not kept after it",
        "services/shared/response_cache.py",
        "if edition is None or edition != self._edition or",
        "if edition is None or",
        "tests/services/test_kept_answers.py",
    ),
    Guard(
        "a known answer ends with its key",
        "api/cache.py",
        "return cached if cached and not cached.principal.has_ended(now) else None",
        "return cached",
        _KNOWN,
    ),
    Guard(
        "an answer is known by the key or cookie that it was given to",
        "services/shared/response_cache.py",
        '        digest.update(word.encode("latin-1"))\n',
        "",
        f"{_KNOWN} tests/web/test_kept_pages.py",
    ),
    Guard(
        "whoever is answered from what is known is counted",
        "api/app.py",
        "            await self._callers.count(cached.principal, now=now)\n",
        "",
        _KNOWN,
    ),
    Guard(
        "a known page ends with its session",
        "web/known_pages.py",
        "        return known if goes_on else None",
        "        return known if goes_on is not None else None",
        "tests/web/test_kept_pages.py",
    ),
    Guard(
        "what is wrong with one question is not wrong with those beside it",
        "storage/postgres_reads.py",
        "            if len(reads) == 1:\n                reads[0].fail(error)",
        "            if reads:\n                _ = [x.fail(error) for x in reads]",
        "tests/storage/test_postgres_reads.py",
        "wrong_with_one",
    ),
    Guard(
        "a connection that the server has ended is not used",
        "storage/postgres_connections.py",
        "if _has_something_to_read(connection) or idle_s > _IDLE_S:",
        "if idle_s > _IDLE_S:",
        "tests/storage/test_postgres_reads.py",
        "has_ended",
    ),
    Guard(
        "a connection that was idle is asked before it is used",
        "storage/postgres_connections.py",
        "if _has_something_to_read(connection) or idle_s > _IDLE_S:",
        "if _has_something_to_read(connection):",
        _FLOWS,
        "forgotten",
    ),
    Guard(
        "a connection that does not answer is given up",
        "storage/postgres_connections.py",
        "            line.shutdown(socket.SHUT_RDWR)",
        "            pass",
        _FLOWS,
        "forgotten",
    ),
    Guard(
        "the kernel looks after the pool's connections",
        "storage/postgres.py",
        "            kwargs=CONNECTING,",
        '            kwargs={"autocommit": True},',
        _FLOWS,
        "kernel",
    ),
    Guard(
        "the kernel looks after the listener's connection",
        "storage/postgres.py",
        "self._url, **CONNECTING",
        "self._url, autocommit=True",
        _FLOWS,
        "kernel",
    ),
    Guard(
        "what the server undid is not told to be committed",
        "storage/postgres.py",
        'if ended.statusmessage != "COMMIT":',
        "if False:",
        "tests/storage/test_transactions.py",
        "keeps_an_error_back",
    ),
)
