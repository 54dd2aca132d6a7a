"""The endpoint about the key itself: whoever holds one learns what it opens."""

import msgspec

from leyden.api.operations import Request
from leyden.domain.times import to_iso
from leyden.services import accounts


class KeyAnswer(msgspec.Struct):
    """Whose key this is, and what it may touch; `expires` is "never" or a time."""

    organization_id: str
    organization_name: str
    key_name: str
    scopes: list[str]
    expires: str


async def show(request: Request) -> KeyAnswer:
    """Tell whose key this is, and what it may touch."""
    organization, key = await accounts.whose(request.platform, request.principal)
    return KeyAnswer(
        organization_id=organization.id,
        organization_name=organization.name,
        key_name=key.name,
        scopes=sorted(key.scopes),
        expires="never" if key.expires is None else to_iso(key.expires),
    )
