"""Authorization, checked again in the transaction that acts.

A request authenticates before it waits: for its body, for a slow password, for a lock.
The right may have been revoked meanwhile, and the revocation was confirmed. So the last
check is under the lock that a revocation takes.

Only people lose rights in this way: an operator at the machine itself may do what an
owner may, and a key is looked up again with its request.

A person who lost a right is authenticated again, and gets the usual answer for the lack
of it: a refused form does not show its page.
"""

from typing import Final

from leyden.base.database.database import Database
from leyden.base.database.stores import Stores
from leyden.base.rules.accounts import Role
from leyden.base.rules.sign_in import RIGHTS, Right
from leyden.errors import RightsChanged

_PERSON: Final = "user:"


async def check(tx: Stores, actor: str, organization_id: str, right: Right) -> Role:
    """Lock the organization, and return the actor's current role.

    Raise RightsChanged if the actor is not a member any more, or lacks the right.
    """
    await tx.accounts.lock(organization_id)
    if not actor.startswith(_PERSON):
        return Role.OWNER
    role = await tx.people.role(organization_id, actor.removeprefix(_PERSON))
    if role is None or right not in RIGHTS[role]:
        raise RightsChanged
    return role


async def confirm(tx: Stores, actor: str, organization_id: str, right: Right) -> None:
    """Check as `check` does, and lock the organization, where a person acts.

    For what needs no lock of its own: keys of one organization do not wait for each
    other here.
    """
    if actor.startswith(_PERSON):
        await check(tx, actor, organization_id, right)


async def confirm_before(
    database: Database, actor: str, organization_id: str, right: Right
) -> None:
    """Confirm before something that is no transaction, and cannot be taken back."""
    if actor.startswith(_PERSON):
        async with database.transaction() as tx:
            await check(tx, actor, organization_id, right)


async def check_operator(tx: Stores, actor: str) -> None:
    """Raise RightsChanged when a person is no operator any more."""
    if actor.startswith(_PERSON):
        user_id = actor.removeprefix(_PERSON)
        await tx.people.lock(user_id)
        if not await tx.people.is_operator(user_id):
            raise RightsChanged
