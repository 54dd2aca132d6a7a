"""Whoever acts still may: looked up again in the transaction that acts.

A request reads who asks before it waits: for its body, for a slow password, for a lock.
What they were allowed to do then may have been taken away meanwhile, and whoever took
it away was told that it is done. So the last look is under the lock that takes it away.

Only people lose rights in this way: an operator at the machine itself may do what an
owner may, and a key is looked up again with its request.
"""

from typing import Final

from leyden.domain.accounts import Role
from leyden.domain.sign_in import RIGHTS, Right
from leyden.errors import Forbidden, NotFound
from leyden.storage.nouns import Nouns

_PERSON: Final = "user:"


async def check(tx: Nouns, actor: str, organization_id: str, right: Right) -> Role:
    """Lock the organization, and return what the actor is there now.

    NotFound when they are not in it any more, Forbidden when they lack the right.
    """
    await tx.accounts.lock(organization_id)
    if not actor.startswith(_PERSON):
        return Role.OWNER
    role = await tx.people.role(organization_id, actor.removeprefix(_PERSON))
    if role is None:
        raise NotFound
    check_has(role, right)
    return role


def check_has(role: Role, right: Right) -> None:
    """Raise Forbidden where the role lacks the right."""
    if right not in RIGHTS[role]:
        raise Forbidden(
            f"As {role} you may not do that. An owner or admin can give you another "
            "role."
        )


async def check_operator(tx: Nouns, actor: str) -> None:
    """Raise NotFound, as pages do, when a person is no operator any more."""
    if actor.startswith(_PERSON):
        user_id = actor.removeprefix(_PERSON)
        await tx.people.lock(user_id)
        if not await tx.people.is_operator(user_id):
            raise NotFound
