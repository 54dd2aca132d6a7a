"""The limit on open files, and how it is shared.

Without free files no request is accepted, no payment noticed and no node
started. So each part that may open many files, such as one for each caller
or unpaid order, is limited to a share.
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
    """Return how many files each of our programs can open."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most
