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
)
