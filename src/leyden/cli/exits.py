"""What a command's exit code says, for scripts; docs/cli.md has the same table."""

import errno

from leyden.errors import CannotOpen, LeydenError, NodeAway, NodeRefused

FAILED = 1
# What no command can do anything about: said in a line, for it is no fault of ours.
OF_THE_MACHINE = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS),
        *(errno.ENOSPC, errno.EDQUOT, errno.EMFILE),
        *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG),
    }
)
TOOK_TOO_LONG = 7
STOPPED = 130  # as shells count: 128, and the number of SIGINT
CODES: dict[int, str] = {
    0: "done",
    FAILED: "it failed, in a way that has no number of its own",
    2: "the command or a value in it is wrong",
    3: "no API key, or one that was refused or lacks the scope",
    4: "there is no such thing, or it is not yours",
    5: "not in the present state: a name that is taken, a limit that is reached",
    6: "nobody answers, or asks to wait: try again later",
    TOOK_TOO_LONG: "what was waited for did not come in time",
    8: "a wrong password, a backup that does not open, or the node itself refused",
    STOPPED: "ctrl-C; what the platform was asked goes on",
}
_BY_STATUS = {
    0: 6,
    400: 2,
    401: 3,
    402: 5,
    403: 3,
    404: 4,
    409: 5,
    413: 2,
    415: 2,
    429: 6,
    503: 6,
}


class TookTooLong(LeydenError):
    """What was waited for did not come in time."""


class Refusal(LeydenError):
    """Said no, in words that say what to do next."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


def code(error: LeydenError) -> int:
    """Give the exit code for an error."""
    match error:
        case TookTooLong():
            return TOOK_TOO_LONG
        case NodeRefused() | CannotOpen():
            return 8
        case NodeAway():
            return 6
        case _:
            return _BY_STATUS.get(error.status, FAILED)
