"""Response schemas of the key and quota endpoints."""

from typing import Annotated

import msgspec
from msgspec import Meta


class KeyAnswer(msgspec.Struct):
    """An API key's owner and scopes; `expires` is "never" or a time."""

    organization_id: Annotated[
        str, Meta(description="Your organization's id: part of most paths.")
    ]
    organization_name: Annotated[str, Meta(description="Your organization's name.")]
    key_name: Annotated[str, Meta(description="The name given to the key.")]
    scopes: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"enum": ["node", "flow"]})]],
        Meta(description="What the key may do: `node`, `flow` or both."),
    ]
    expires: Annotated[
        str, Meta(description="When the key expires: `never`, or a time.")
    ]


class QuotaUsage(msgspec.Struct):
    """The usage and limit of one quota."""

    used: Annotated[int, Meta(description="Current usage.")]
    limit: Annotated[int, Meta(description="The limit.")]


class QuotasAnswer(msgspec.Struct):
    """All quotas of the organization, by name."""

    quotas: Annotated[dict[str, QuotaUsage], Meta(description="The quotas, by name.")]
