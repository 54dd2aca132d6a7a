"""Styles, scripts and images: read once, cached by browsers."""

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.responses import Response

from leyden.errors import NotFound

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_PREFIX = "/app/static/"
# The address names the content, so what was kept is never old.
_FOR_EVER = "public, max-age=31536000, immutable"
_BRIEFLY = "public, max-age=60"


class Assets:
    """All static files, by their path below the folder."""

    def __init__(self) -> None:
        self._files = dict(_walk(files("leyden.base.pages") / "static", ""))
        self._packed: dict[str, bytes] = {}
        together = b"".join(self._files[path] for path in sorted(self._files))
        self.edition = hashlib.sha256(together).hexdigest()[:12]

    def url(self, path: str) -> str:
        """Return the URL of a file, as pages link to it.

        The edition is in the path, so that modules import the modules of their
        own edition.
        """
        if path not in self._files:
            raise KeyError(path)
        return f"{_PREFIX}{self.edition}/{path}"

    def answer(self, edition: str, path: str, *, packed: bool) -> Response:
        """Return a file; for another edition, return this one, cached briefly."""
        if path not in self._files:
            raise NotFound
        headers = {
            "content-type": _TYPES[path.rpartition(".")[2]],
            "cache-control": _FOR_EVER if edition == self.edition else _BRIEFLY,
            "vary": "accept-encoding",
        }
        if packed:
            headers["content-encoding"] = "gzip"
            return Response(self._pack(path), headers=headers)
        return Response(self._files[path], headers=headers)

    def _pack(self, path: str) -> bytes:
        if path not in self._packed:
            self._packed[path] = gzip.compress(self._files[path], mtime=0)
        return self._packed[path]


@cache
def assets() -> Assets:
    """Return the static files, which are read once in a process."""
    return Assets()


def _walk(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _walk(each, f"{path}{each.name}/")
        elif each.name.rpartition(".")[2] in _TYPES:
            found.append((f"{path}{each.name}", each.read_bytes()))
    return found
