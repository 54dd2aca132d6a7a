"""Layers: reproducible tar files, whose bytes depend only on their entries."""

import io
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path

from leyden.values import Struct

USER = 1000


class Entry(Struct, frozen=True, kw_only=True):
    """A file, a link or a folder of a layer; root's, unless it is the user's."""

    content: bytes | None = None  # None: a folder, or a link
    link: str = ""
    mode: int = 0o644
    own: bool = False  # the user's that the image runs as


def folder(*, mode: int = 0o755, own: bool = False) -> Entry:
    """Return a folder."""
    return Entry(mode=mode, own=own)


def tree(root: Path, *, at: str = "") -> dict[str, Entry]:
    """Return the entries of a folder on this machine, by their path in the layer."""
    found: dict[str, Entry] = {}
    prefix = f"{at}/" if at else ""
    for each in sorted(root.rglob("*")):
        name = prefix + str(each.relative_to(root))
        if each.is_symlink():
            found[name] = Entry(link=str(each.readlink()), mode=0o777)
        elif each.is_dir():
            found[name] = folder()
        else:
            runs = each.stat().st_mode & stat.S_IXUSR
            found[name] = Entry(
                content=each.read_bytes(), mode=0o755 if runs else 0o644
            )
    return found


def layer(entries: Mapping[str, Entry]) -> bytes:
    """Return the tar file; folders above an entry are added where they are missing."""
    whole: dict[str, Entry] = {}
    for name, entry in entries.items():
        for above in reversed(Path(name).parents[:-1]):
            whole.setdefault(str(above), folder())
        whole[name] = entry
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(whole):
            archive.addfile(*_member(name, whole[name]))
    return packed.getvalue()


def _member(name: str, entry: Entry) -> tuple[tarfile.TarInfo, io.BytesIO]:
    member = tarfile.TarInfo(name)
    member.mode = entry.mode
    if entry.own:
        member.uid = member.gid = USER
    if entry.link:
        member.type, member.linkname = tarfile.SYMTYPE, entry.link
    elif entry.content is None:
        member.type = tarfile.DIRTYPE
    else:
        member.size = len(entry.content)
    return member, io.BytesIO(entry.content or b"")
