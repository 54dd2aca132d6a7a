"""Who calls: known by a key, and let in as often as the limits allow."""

import time
from datetime import datetime

from leyden.api.key_usage import Uses
from leyden.api.reading import Scope, rate_limited_as
from leyden.domain.accounts import Principal
from leyden.domain.keys import hint
from leyden.errors import TooMany, Unauthorized
from leyden.services.people import api_keys
from leyden.services.platform import Platform
from leyden.services.shared.limits import Failures, Refusals, Requests


class Callers:
    """Looks keys up, and counts the requests and failures of each caller."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._uses = Uses(platform.database)
        self._requests = Requests(platform.settings.requests_per_minute)
        self._refusals = Refusals()
        self._failures = Failures(platform.settings.failures_per_minute)

    async def let_in(
        self, scope: Scope, key: str | None, *, now: datetime
    ) -> Principal:
        """Return who asks; refuse who may not, and who asks too often."""
        try:
            principal = await api_keys.authenticate(self._platform, key or "", now=now)
        except Unauthorized:
            # Only now: a good key is good whatever others at its address have tried.
            address = rate_limited_as(scope)
            self._failures.take(address, hint(key or ""), at_s=time.monotonic())
            raise
        await self.count(principal, now=now)
        return principal

    async def count(self, principal: Principal, *, now: datetime) -> None:
        """Count a request; refuse it, after a wait, if there were too many."""
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
