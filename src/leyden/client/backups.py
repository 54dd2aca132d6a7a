"""What is kept for a node's owner: ciphertext, and lnd's backup of its channels."""

import base64
import hashlib
from collections.abc import Callable, Iterable

import msgspec

from leyden.client.calls import Calls, word
from leyden.values import Struct, hiding


class MacaroonItem(msgspec.Struct, kw_only=True):
    """A macaroon that is kept, by its name."""

    node_id: str
    name: str
    created: str


class Macaroon(MacaroonItem, kw_only=True):
    """A macaroon as it was sent."""

    macaroon: str


class Seed(msgspec.Struct, kw_only=True):
    """The seed as it was sent."""

    node_id: str
    node_name: str
    seed: str


class Resealed(Struct, frozen=True, kw_only=True):
    """A backup under a new password, and the ciphertext whose place it takes."""

    name: str | None  # a macaroon's; None is the seed
    before: str
    after: str

    __repr__ = hiding("before", "after")


class FoundInClear(msgspec.Struct, kw_only=True):
    """Macaroons that lnd wrote to the platform's disk, and that were removed."""

    time: str
    number: int


class _Macaroons(msgspec.Struct):
    macaroons: list[MacaroonItem]
    found_in_clear: list[FoundInClear]


class _Channels(msgspec.Struct):
    channel_backup: str


class ReplacedItem(msgspec.Struct, kw_only=True):
    """A backup that another took the place of; the seed's `name` is empty."""

    name: str
    until: str
    value: str


class _Replaced(msgspec.Struct):
    replaced: list[ReplacedItem]


class _Resealed(msgspec.Struct):
    resealed: int


class Backups:
    """What is kept for one organization's nodes. Encrypt before you keep."""

    def __init__(self, calls: Calls, organization: Callable[[], str]) -> None:
        self._calls = calls
        self._organization = organization

    def keep_seed(self, node_id: str, seed: str) -> Seed:
        """Keep a node's encrypted seed; ApiError 409 if there is one."""
        return self._calls.post(self._path(node_id, "seed"), Seed, {"seed": seed})

    def seed(self, node_id: str) -> Seed:
        """Give the encrypted seed back; ApiError 404 if none is kept."""
        return self._calls.get(self._path(node_id, "seed"), Seed)

    def keep_macaroon(self, node_id: str, name: str, macaroon: str) -> MacaroonItem:
        """Keep an encrypted macaroon; ApiError 409 if there is one of that name."""
        body = {"name": name, "macaroon": macaroon}
        return self._calls.post(self._path(node_id, "macaroon"), MacaroonItem, body)

    def macaroons(self, node_id: str) -> list[MacaroonItem]:
        """List the macaroons that are kept, oldest first."""
        return self._calls.get(self._path(node_id, "macaroons"), _Macaroons).macaroons

    def found_in_clear(self, node_id: str) -> list[FoundInClear]:
        """Tell of the last 30 days when an unlock left macaroons, newest first."""
        path = self._path(node_id, "macaroons")
        return self._calls.get(path, _Macaroons).found_in_clear

    def macaroon(self, node_id: str, name: str) -> Macaroon:
        """Give an encrypted macaroon back."""
        return self._calls.get(self._path(node_id, "macaroon", name), Macaroon)

    def reseal(self, node_id: str, anew: Iterable[Resealed]) -> int:
        """Replace backups by the same under a new password, all or none."""
        body: dict[str, object] = {}
        macaroons = []
        for each in anew:
            replaces = hashlib.sha256(each.before.encode()).hexdigest()
            if each.name is None:
                body["seed"] = {"seed": each.after, "replaces": replaces}
            else:
                macaroons.append(
                    {"name": each.name, "macaroon": each.after, "replaces": replaces}
                )
        body["macaroons"] = macaroons
        return self._calls.post(self._path(node_id, "reseal"), _Resealed, body).resealed

    def replaced(self, node_id: str) -> list[ReplacedItem]:
        """Give what others took the place of in the last 30 days, the latest first."""
        return self._calls.get(self._path(node_id, "replaced"), _Replaced).replaced

    def channels(self, node_id: str) -> bytes:
        """Give lnd's newest backup of its channels, which lnd encrypted itself."""
        kept = self._calls.get(self._path(node_id, "backup"), _Channels)
        return base64.b64decode(kept.channel_backup)

    def _path(self, *words: str) -> str:
        parts = ("organizations", self._organization(), "nodes", *words)
        return "".join(f"/{word(each)}" for each in parts)
