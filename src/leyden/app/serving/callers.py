"""Authentication and rate limits of callers."""

import time
from datetime import datetime

from leyden.base.http.limits import Failures, Refusals, Requests
from leyden.base.http.reading import Scope, rate_limited_as
from leyden.base.platform import Platform
from leyden.base.rules.accounts import Principal
from leyden.errors import TooMany, Unauthorized
from leyden.people import api_keys
from leyden.people.api.key_usage import Uses
from leyden.people.rules.keys import hint


class Callers:
    """Authenticates callers, and counts their requests and failures."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._uses = Uses(platform.database)
        self._requests = Requests(platform.settings.requests_per_minute)
        self._refusals = Refusals()
        self._failures = Failures(platform.settings.failures_per_minute)

    async def authenticate(
        self, scope: Scope, key: str | None, *, now: datetime
    ) -> Principal:
        """Return the caller's principal; raise Unauthorized, or TooMany."""
        try:
            principal = await api_keys.authenticate(self._platform, key or "", now=now)
        except Unauthorized:
            # Only now: failures of others at an address must not lock out a valid key.
            address = rate_limited_as(scope)
            self._failures.take(address, hint(key or ""), at_s=time.monotonic())
            raise
        await self.count(principal, now=now)
        return principal

    async def count(self, principal: Principal, *, now: datetime) -> None:
        """Count a request; raise TooMany, after a wait, over the limits."""
        at_s = time.monotonic()
        try:
            self._requests.take(principal.key_id, principal.organization_id, at_s=at_s)
        except TooMany:
            await self._refusals.wait(principal.organization_id, at_s=at_s)
            raise
        self._uses.note(principal.key_id, now=now, at_s=at_s)

    async def confirm(self, key: str | None) -> Principal:
        """Look a key up again, without counting: it may have ended meanwhile."""
        now = self._platform.clock()
        return await api_keys.authenticate(self._platform, key or "", now=now)
