"""Checks of what people need: emails, and second factors of operators."""

from leyden.base.platform import Platform
from leyden.events.wiring.emailing import make_server


async def emails(platform: Platform) -> str:
    """Sign in at the mail server."""
    server = make_server(platform.settings)
    if server is None:
        return (
            "set smtp_host and smtp_from: without emails, nobody can reset a password, "
            "and you get alarms by webhook only"
        )
    await server.check()
    return ""


async def second_factors(platform: Platform) -> str:
    """Check that there is an operator, and that each has a second factor."""
    reader = platform.database.reader
    operators = [
        each
        for each in await reader.accounts.people()
        if await reader.people.is_operator(each.id)
    ]
    if not operators:
        return "give a user the operator role: `leyden operators add EMAIL`"
    for each in operators:
        totp = await reader.second_factors.totp(each.id)
        if totp is None and not await reader.second_factors.passkeys(each.id):
            return f"{each.email} must add a passkey or an authenticator app"
    return ""
