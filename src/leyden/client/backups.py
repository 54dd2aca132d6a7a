"""Stored backups: ciphertext, and lnd's static channel backup."""

import base64
import hashlib
from collections.abc import Callable, Iterable

from leyden.client.calls import Calls, word
from leyden.schemas.backups import (
    ChannelsAnswer,
    DrillAnswer,
    FoundInClear,
    MacaroonAnswer,
    MacaroonItem,
    MacaroonsAnswer,
    NewDrill,
    NewlySealed,
    NewMacaroon,
    NewSeed,
    ProofsAnswer,
    ReplacedAnswer,
    ReplacedItem,
    ResealedAnswer,
    ResealedMacaroon,
    ResealedSeed,
    SeedAnswer,
)
from leyden.values import Struct, hiding


class Resealed(Struct, frozen=True, kw_only=True):
    """A re-encrypted backup, with the ciphertext it replaces."""

    name: str | None  # a macaroon's; None is the seed
    before: str
    after: str

    __repr__ = hiding("before", "after")


class Backups:
    """The backups of one organization's nodes; encrypt before storing."""

    def __init__(self, calls: Calls, organization: Callable[[], str]) -> None:
        self._calls = calls
        self._organization = organization

    def store_seed(self, node_id: str, seed: str) -> SeedAnswer:
        """Store a node's encrypted seed; raise ApiError 409 if one is stored."""
        return self._calls.post(self._path(node_id, "seed"), SeedAnswer, NewSeed(seed))

    def seed(self, node_id: str) -> SeedAnswer:
        """Return the encrypted seed; raise ApiError 404 if none is stored."""
        return self._calls.get(self._path(node_id, "seed"), SeedAnswer)

    def store_macaroon(self, node_id: str, name: str, macaroon: str) -> MacaroonItem:
        """Store an encrypted macaroon; raise ApiError 409 if the name exists."""
        body = NewMacaroon(macaroon=macaroon, name=name)
        return self._calls.post(self._path(node_id, "macaroon"), MacaroonItem, body)

    def macaroons(self, node_id: str) -> list[MacaroonItem]:
        """List the stored macaroons, oldest first."""
        path = self._path(node_id, "macaroons")
        return self._calls.get(path, MacaroonsAnswer).macaroons

    def found_in_clear(self, node_id: str) -> list[FoundInClear]:
        """List unlocks that left plaintext macaroons, newest first.

        Covers the last 30 days.
        """
        path = self._path(node_id, "macaroons")
        return self._calls.get(path, MacaroonsAnswer).found_in_clear

    def macaroon(self, node_id: str, name: str) -> MacaroonAnswer:
        """Return a stored encrypted macaroon."""
        return self._calls.get(self._path(node_id, "macaroon", name), MacaroonAnswer)

    def reseal(self, node_id: str, anew: Iterable[Resealed]) -> int:
        """Replace backups with re-encrypted ones, all or none.

        Return the number replaced.
        """
        body = NewlySealed()
        for each in anew:
            replaces = hashlib.sha256(each.before.encode()).hexdigest()
            if each.name is None:
                body.seed = ResealedSeed(seed=each.after, replaces=replaces)
            else:
                macaroon = ResealedMacaroon(
                    macaroon=each.after, name=each.name, replaces=replaces
                )
                body.macaroons.append(macaroon)
        path = self._path(node_id, "reseal")
        return self._calls.post(path, ResealedAnswer, body).resealed

    def replaced(self, node_id: str) -> list[ReplacedItem]:
        """List backups replaced in the last 30 days, newest first."""
        return self._calls.get(self._path(node_id, "replaced"), ReplacedAnswer).replaced

    def channels(self, node_id: str) -> bytes:
        """Return lnd's newest static channel backup, encrypted by lnd itself."""
        stored = self._calls.get(self._path(node_id, "backup"), ChannelsAnswer)
        return base64.b64decode(stored.channel_backup)

    def proofs(self, node_id: str) -> ProofsAnswer:
        """Return how old the backups are, and when they were last opened."""
        return self._calls.get(self._path(node_id, "proofs"), ProofsAnswer)

    def store_drill(self, node_id: str, time: str, signature: str) -> DrillAnswer:
        """Store that the backups were opened, which the node has signed."""
        body = NewDrill(time=time, signature=signature)
        return self._calls.post(self._path(node_id, "drill"), DrillAnswer, body)

    # Their former names.
    keep_seed, keep_macaroon, keep_drill = store_seed, store_macaroon, store_drill

    def _path(self, *words: str) -> str:
        parts = ("organizations", self._organization(), "nodes", *words)
        return "".join(f"/{word(each)}" for each in parts)
