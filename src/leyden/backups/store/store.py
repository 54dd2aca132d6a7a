"""The store of backups: a restic repository, in a folder or an S3-compatible store.

The store alone reveals nothing: restic encrypts everything under the store's password.
Data that is stored twice takes space once. Nothing is cached: every read is from the
store.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from leyden.backups.store.calls import Failed, Secret, call, secret
from leyden.errors import SetupError
from leyden.values import Struct, hiding

TAG: Final = "leyden"
CHANNELS: Final = "leyden-channels"  # channel backups alone, between two backups
_ABSENT, _LOCKED, _WRONG_PASSWORD = 10, 11, 12  # restic's exit codes
_USERINFO: Final = re.compile(r"://[^/@]*@")
_WAIT_FOR_LOCK: Final = "30s"
# For what reads little: restic repeats what fails, a wrong key too, for a quarter hour.
_SHORT_S: Final = 120.0


class Locked(SetupError):
    """The store is in use by another backup."""


class StoreAccess(Struct, frozen=True, kw_only=True):
    """The way to a store."""

    location: str
    password: str
    s3_key_id: str = ""
    s3_secret: str = ""
    deadline_s: float

    __repr__ = hiding("password", "s3_secret")


class Snapshot(Struct, frozen=True, kw_only=True):
    """One backup in the store."""

    id: str
    made: datetime
    host: str
    folder: str  # where it was made; what names its files
    tags: tuple[str, ...]


class Added(Struct, frozen=True, kw_only=True):
    """What a backup came to."""

    id: str
    total_bytes: int
    added_bytes: int  # to the store, as the rest was there already


class Store(Struct, frozen=True, kw_only=True):
    """A restic repository."""

    restic: Path
    access: StoreAccess

    async def create(self) -> None:
        """Create the repository; raise SetupError where there is one already."""
        await self._run("init", doing="create the store", within_s=_SHORT_S)

    async def add(
        self, folder: Path, *, host: str, tags: Sequence[str] = (), kind: str = TAG
    ) -> Added:
        """Store the content of a folder as a new snapshot of this kind."""
        words = ["--json", "--quiet", "--host", host]
        for each in (kind, *tags):
            words += ["--tag", each]
        words += [str(folder)]
        try:
            printed = await self._run("backup", *words, doing="back up")
        except Locked:
            # By one that was killed, mostly: of another one the lock stays.
            await self._run("unlock", doing="unlock the store")
            printed = await self._run("backup", *words, doing="back up")
        summary: dict[str, Any] = msgspec.json.decode(printed.splitlines()[-1])
        return Added(
            id=summary["snapshot_id"],
            total_bytes=summary["total_bytes_processed"],
            added_bytes=summary["data_added_packed"],
        )

    async def all_snapshots(self) -> list[Snapshot]:
        """List the snapshots of all kinds, oldest first."""
        printed = await self._run(
            *("snapshots", "--json", "--no-lock"),
            doing="list backups",
            within_s=_SHORT_S,
        )
        found = [_snapshot(each) for each in msgspec.json.decode(printed) or []]
        return sorted(found, key=lambda each: each.made)

    async def snapshots(self, *, kind: str = TAG) -> list[Snapshot]:
        """List the snapshots of a kind, oldest first."""
        return of_kind(await self.all_snapshots(), kind)

    async def find(self, wanted: str = "latest") -> Snapshot:
        """Return a backup by the first letters of its id, or the latest."""
        return self.choose(await self.snapshots(), wanted)

    def choose(self, found: list[Snapshot], wanted: str) -> Snapshot:
        """Return one of these by the first letters of its id, or the latest."""
        if wanted != "latest":
            found = [each for each in found if each.id.startswith(wanted)]
        if not found or (wanted != "latest" and len(found) > 1):
            many = "more than one" if found else "no"
            raise SetupError(
                f"there is {many} backup {wanted} in {shown(self.access.location)}; "
                "see `leyden backup list`"
            )
        return found[-1]

    async def fetch(self, snapshot: Snapshot, target: Path) -> None:
        """Restore a snapshot's files into a folder.

        Every byte is verified as it is read from the store. What was written is not
        read again, as `--verify` would: it is a third of the time, and a backup's
        manifest has the digests of its files.
        """
        await self._run(
            *("restore", f"{snapshot.id}:{snapshot.folder}", "--target", str(target)),
            *("--quiet", "--no-lock"),
            doing=f"fetch backup {snapshot.id[:8]}",
        )

    async def check(self) -> None:
        """Read and verify every byte of the store; raise SetupError with the damage."""
        await self._run("check", "--read-data", doing="check the store")

    async def forget(self, keep: Sequence[str], *, kind: str = TAG) -> None:
        """Delete snapshots beyond what is to be kept."""
        await self._run(
            *("forget", "--quiet", "--tag", kind, "--group-by", "", *keep),
            doing="delete old backups",
        )

    async def _run(
        self, *words: str, doing: str, within_s: float = float("inf")
    ) -> bytes:
        access = self.access
        with contextlib.ExitStack() as stack:
            location_file = stack.enter_context(secret(access.location))
            password = stack.enter_context(secret(access.password))
            keys = stack.enter_context(_s3_keys(access))
            try:
                return await call(
                    [
                        *(self.restic, "--repository-file", location_file.path),
                        *("--password-file", password.path, "--no-cache"),
                        *("--retry-lock", _WAIT_FOR_LOCK, *words),
                    ],
                    doing=f"{shown(access.location)}: {doing}",
                    deadline_s=min(access.deadline_s, within_s),
                    secrets=[location_file, password, *keys],
                    env={"AWS_SHARED_CREDENTIALS_FILE": keys[0].path} if keys else {},
                )
            except Failed as error:
                raise _explained(error, access) from None


@contextlib.contextmanager
def _s3_keys(access: StoreAccess) -> Iterator[list[Secret]]:
    if not access.s3_key_id:
        yield []
        return
    lines = (
        "[default]",
        f"aws_access_key_id = {access.s3_key_id}",
        f"aws_secret_access_key = {access.s3_secret}",
    )
    with secret("\n".join(lines)) as file:
        yield [file]


def _explained(error: Failed, access: StoreAccess) -> SetupError:
    location = shown(access.location)
    known = {
        _ABSENT: f"there is no store of backups in {location}; `leyden backup init` "
        "creates it",
        _WRONG_PASSWORD: f"the password does not open {location}: it is of another "
        "store, or the store's keys are damaged",
        _LOCKED: f"{location} is in use by another backup; try again later",
    }
    kind = Locked if error.code == _LOCKED else SetupError
    return kind(f"backup_store: {known.get(error.code, error.message)}")


def of_kind(snapshots: Iterable[Snapshot], kind: str) -> list[Snapshot]:
    """Return those of a kind, in their order."""
    return [each for each in snapshots if kind in each.tags]


def _snapshot(fields: dict[str, Any]) -> Snapshot:
    return Snapshot(
        id=fields["id"],
        made=datetime.fromisoformat(fields["time"]),
        host=fields["hostname"],
        folder=fields["paths"][0],
        tags=tuple(fields.get("tags") or ()),
    )


def shown(location: str) -> str:
    """Return the place of a store without a password in it."""
    return _USERINFO.sub("://", location)


def check_location(location: str) -> str:
    """Return the place of a store as restic takes it; raise SetupError if it is none.

    A folder is named absolutely, as programs are called in other folders.
    """
    if _USERINFO.search(location):
        raise SetupError(
            "backup_store: must not hold a name and a password; set backup_s3_key_id "
            "and backup_s3_secret"
        )
    if re.match(r"(s3|b2|azure|gs|rest|sftp|swift|rclone):", location):
        return location
    return str(Path(location).expanduser().absolute())
