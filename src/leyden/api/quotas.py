"""The endpoint about quotas: what an organization may have, and how much it has."""

import msgspec

from leyden.api.operations import Request
from leyden.services import quotas


class QuotaUsage(msgspec.Struct):
    """One quota."""

    used: int
    limit: int


class QuotasAnswer(msgspec.Struct):
    """All quotas of the organization, by name."""

    quotas: dict[str, QuotaUsage]


async def show(request: Request) -> QuotasAnswer:
    """Return what the organization may have, and how much of it is in use."""
    platform = request.platform
    found = await quotas.usage(
        platform.database,
        quotas.limits(platform.settings),
        request.principal.organization_id,
        now=request.now,
    )
    return QuotasAnswer(
        {str(name): QuotaUsage(each.used, each.limit) for name, each in found.items()}
    )
