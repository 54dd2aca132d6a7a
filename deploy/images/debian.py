"""The layer of Debian packages: extracted, with what their scripts would create.

No shell, no package manager, no documentation but licences. The user of the image is in
passwd; certificates of authorities are in one file, as OpenSSL looks for them.
"""

import os
from pathlib import Path
from typing import Final

from deploy.images.tars import USER, Entry, folder, tree

from leyden.daemons.progress import Progress
from leyden_workshop.devcluster import packages

HERE: Final = Path(__file__).parent
PYTHON: Final = HERE / "debian-python.txt"
BASE: Final = HERE / "debian-base.txt"
MACHINE: Final = HERE / "debian-machine.txt"
_LEFT_OUT: Final = (
    *("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/"),
    *("usr/share/bug/", "usr/share/binfmts/", "usr/share/applications/"),
    *("usr/share/pixmaps/", "usr/share/zoneinfo/right/", "usr/share/gcc/"),
    *("usr/share/python3/", "etc/ld.so.conf.d/", "etc/update-motd.d/", "var/"),
    *("usr/lib/python3.11/idlelib/", "usr/lib/python3.11/lib2to3/"),
)
_PEOPLE: Final = f"root:x:0:0::/:\nleyden:x:{USER}:{USER}::/var/lib/leyden:\n"
_GROUPS: Final = f"root:x:0:\nleyden:x:{USER}:\n"
_NAMES: Final = "passwd: files\ngroup: files\nhosts: files dns\n"
_BUNDLE: Final = "etc/ssl/certs/ca-certificates.crt"


async def extracted(listing: Path, cache: Path, progress: Progress) -> Path:
    """Return the folder with the packages of a listing, downloaded at first."""
    found = await packages.ensure(
        cache, listing, environment=os.environ, progress=progress
    )
    return found.root


def shell(root: Path) -> dict[str, Entry]:
    """Return the layer of a shell."""
    found = {name: each for name, each in tree(root).items() if _kept(name)}
    return {**found, "bin/sh": Entry(link="dash", mode=0o777)}


def entries(root: Path, *, home: str = "") -> dict[str, Entry]:
    """Return the layer of these packages; `home` is the user's, if there is one."""
    found = {name: each for name, each in tree(root).items() if _kept(name)}
    found |= {
        "etc/passwd": Entry(content=_PEOPLE.encode()),
        "etc/group": Entry(content=_GROUPS.encode()),
        # Whoever runs containers puts his own over it.
        "etc/hosts": Entry(content=b"127.0.0.1 localhost\n::1 localhost\n"),
        "etc/nsswitch.conf": Entry(content=_NAMES.encode()),
        "tmp": folder(mode=0o1777),
    }
    authorities = sorted((root / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    if authorities:
        bundle = b"".join(each.read_bytes() for each in authorities)
        found[_BUNDLE] = Entry(content=bundle)
        found["usr/lib/ssl/cert.pem"] = Entry(link=f"/{_BUNDLE}", mode=0o777)
    if (root / "usr/bin/python3.11").exists():
        found["usr/bin/python3"] = Entry(link="python3.11", mode=0o777)
    if home:
        found[home] = folder(mode=0o700, own=True)
    return found


def _kept(name: str) -> bool:
    return name.endswith("/copyright") or not f"{name}/".startswith(_LEFT_OUT)
