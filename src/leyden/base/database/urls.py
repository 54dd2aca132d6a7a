"""URLs of databases."""

from pathlib import Path


def is_sqlite(url: str) -> bool:
    """Return whether a URL is of SQLite."""
    return url.startswith("sqlite:///")


def sqlite_path(url: str) -> Path:
    """Return the file of a SQLite database."""
    return Path(url.removeprefix("sqlite:///")).absolute()
