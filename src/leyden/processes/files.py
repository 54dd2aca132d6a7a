"""How many files we may have open, and who may take how many of them.

With none left no request is taken, no payment heard of and no node started. So whoever
would take many, one for each caller or unpaid order, takes no more than a share.
"""

import resource


def open_as_many_as_we_may() -> None:
    """Raise the limit to what the machine allows."""
    most = _most()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def share(one_in: int, *, enough: int) -> int:
    """Give how many of the files one may take: at least one, at the most `enough`."""
    most = _most()
    if most == resource.RLIM_INFINITY:
        return enough
    return max(1, min(enough, most // one_in))


def _most() -> int:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most
