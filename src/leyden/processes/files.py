"""The limit on open files, and its division among their users.

Without free files no request is accepted, no payment noticed and no node
started. So a part that may open many, one for each caller or unpaid order,
is limited to a share.
"""

import resource


def raise_file_limit() -> None:
    """Raise the limit of open files to the machine's maximum."""
    most = most_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def share(one_in: int, *, enough: int) -> int:
    """Return one user's share of the open files: from one to `enough`."""
    most = most_files()
    if most == resource.RLIM_INFINITY:
        return enough
    return max(1, min(enough, most // one_in))


def most_files() -> int:
    """Return how many files the machine lets each of our programs open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most
