"""The endpoints that events are sent to, with what a delivery needs."""

from collections.abc import Mapping
from datetime import datetime

from leyden.domain.deliveries import Pause
from leyden.values import Struct, hiding


def old_purpose(purpose: str) -> str:
    """Return the purpose that a secret is sealed for once it is replaced."""
    return f"old {purpose}"


class Addressee(Struct, frozen=True, kw_only=True):
    """A node's receiver, or a subscription of an organization."""

    organization_id: str
    url: str
    sealed_secret: bytes
    sealed_old_secret: bytes | None
    old_secret_until: datetime | None
    failing_since: datetime | None
    pause: Pause | None

    __repr__ = hiding("sealed_secret", "sealed_old_secret")

    @property
    def shows_secret(self) -> bool:
        """Whether requests contain the secret itself, as the API requires for nodes."""
        return False

    @property
    def is_signed(self) -> bool:
        """Whether events are signed: for programs, but not for chats."""
        return True

    @property
    def sealed_place(self) -> tuple[bytes, str] | None:
        """The sealed URL and its purpose, if the URL is secret; else None."""
        return None

    @property
    def content_type(self) -> str:
        """The content type of requests."""
        return "application/json"

    @property
    def key(self) -> str:
        """The key of its task."""
        raise NotImplementedError

    @property
    def named(self) -> Mapping[str, str]:
        """The fields that identify it in log lines."""
        raise NotImplementedError

    @property
    def purpose(self) -> str:
        """The purpose that its secret is sealed for."""
        raise NotImplementedError

    @property
    def old_purpose(self) -> str:
        """The purpose that a replaced secret is sealed for."""
        return old_purpose(self.purpose)
