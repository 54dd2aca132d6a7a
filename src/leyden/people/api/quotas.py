"""The quota endpoint: the organization's limits and their usage."""

from leyden.base.http.operations import Request
from leyden.people import quotas
from leyden.schemas.accounts import QuotasAnswer, QuotaUsage


async def show(request: Request) -> QuotasAnswer:
    """Return quotas and usage."""
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
