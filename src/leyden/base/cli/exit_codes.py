"""Exit codes for scripts; docs/customers/cli.md has the same table."""

import errno

from leyden.errors import Away, LeydenError, Refused, every

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
    FAILED: "failed for another reason",
    2: "the command or a value in it is wrong",
    3: "no API key, or the key is not valid or lacks the scope",
    4: "not found, or not yours",
    5: "not possible in the current state: a name is taken, a limit is reached",
    6: "no response, or rate limited: try again later",
    TOOK_TOO_LONG: "timed out while waiting",
    8: "wrong password, unreadable backup, or the node rejected the request",
    STOPPED: "stopped by Ctrl-C; requests already sent continue",
}
# Of the platform's answers, whose kind is not told; 0 is that of nobody who answers.
_BY_STATUS = {each.status: each.exit_code for each in every(Refused)} | {
    0: Away.exit_code,
    Away.status: Away.exit_code,
}


class TookTooLong(LeydenError):
    """The command did not finish in time."""

    exit_code = TOOK_TOO_LONG


class Refusal(LeydenError):
    """The command was rejected; the message includes the next step."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


def code(error: LeydenError) -> int:
    """Return the exit code for an error."""
    if "status" in vars(error):  # as the platform said
        return _BY_STATUS.get(error.status, FAILED)
    return error.exit_code
