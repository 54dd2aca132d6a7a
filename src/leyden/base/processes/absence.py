"""The errors of reading /proc that say something about a process."""

from typing import Final

# It has ended, or is another user's. Others, such as too many open files, say nothing:
# a program that runs must not count as ended because of them.
ABSENT: Final = (FileNotFoundError, ProcessLookupError, PermissionError)
