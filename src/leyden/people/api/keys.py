"""The endpoint about the API key itself."""

from leyden.base.http.operations import Request
from leyden.base.rules.times import to_iso
from leyden.people import api_keys
from leyden.schemas.accounts import KeyAnswer


async def show(request: Request) -> KeyAnswer:
    """Return the API key."""
    organization, key = await api_keys.owner(request.platform, request.principal)
    return KeyAnswer(
        organization_id=organization.id,
        organization_name=organization.name,
        key_name=key.name,
        scopes=sorted(key.scopes),
        expires="never" if key.expires is None else to_iso(key.expires),
    )
