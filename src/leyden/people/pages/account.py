"""The account page: a person's own settings."""

from collections.abc import Awaitable
from typing import Final

from starlette.responses import Response
from webauthn.helpers import bytes_to_base64url

from leyden.base.pages.qr_codes import secret_qr
from leyden.base.pages.visits import Visit, redirect
from leyden.errors import NotFound, Refused
from leyden.people import authenticators, email_addresses, notices, passkeys, profile
from leyden.people.authenticators import NewAuthenticator

_URL: Final = "/app/account"
DONE: Final = {
    "display": "Your display settings are saved.",
    "password": "Your password was changed. You are signed out everywhere else.",
    "link": "We sent you a link. Open it while you are signed in.",
    "email": "Your email address is confirmed.",
    "authenticator": (
        "From now on, you sign in with your password and a code from your app."
    ),
    "removed": "You no longer need a code to sign in.",
    "codes": "Your old recovery codes no longer work.",
    "passkey": "You can sign in with this passkey now.",
    "forgotten": "The passkey is removed. You are signed out everywhere else.",
    "session": "The session is signed out.",
    "others": "You are signed out everywhere else.",
}


async def show(visit: Visit) -> Response:
    """Show password, second factors and sessions."""
    return await _shown(visit)


async def change_password(visit: Visit) -> Response:
    """Change the password, given the current one."""
    change = profile.change_password(
        visit.platform,
        visit.user,
        present=visit.form.secret("present"),
        new=visit.form.secret("new"),
        forget_passkeys=visit.form.ticked("forget-passkeys"),
        now=visit.now,
    )
    return await done(visit, change, "password")


async def set_display(visit: Visit) -> Response:
    """Change theme and time zone of the dashboard."""
    change = profile.set_display(
        visit.platform,
        visit.user,
        theme=visit.form.text("theme"),
        time_zone=visit.form.text("time_zone"),
    )
    return await done(visit, change, "display")


async def end_others(visit: Visit) -> Response:
    """End all sessions of the person but this one."""
    change = profile.end_others(visit.platform, visit.user, now=visit.now)
    return await done(visit, change, "others")


async def end_session(visit: Visit) -> Response:
    """End one of the person's sessions."""
    change = profile.end_session(
        visit.platform, visit.user, visit.form.text("session"), now=visit.now
    )
    return await done(visit, change, "session")


async def offer_authenticator(visit: Visit) -> Response:
    """Show a secret for an authenticator app."""
    try:
        offer = await authenticators.offer(
            visit.platform,
            visit.user,
            present=visit.form.secret("present"),
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, wrong=error)
    return await _offered(visit, offer)


async def confirm_authenticator(visit: Visit) -> Response:
    """Require authenticator codes from now on; show recovery codes, once."""
    try:
        codes = await authenticators.confirm(
            visit.platform, visit.user, visit.form.text("code"), now=visit.now
        )
    except Refused as error:
        secret = visit.form.text("secret")
        offer = await authenticators.offered(visit.platform, visit.user, secret)
        if offer is None:
            return await _shown(visit, wrong=error)
        return await _offered(visit, offer, wrong=error)
    return _recovery_codes(visit, codes, done=DONE["authenticator"])


async def new_recovery_codes(visit: Visit) -> Response:
    """Replace the recovery codes, given the password; show them once."""
    try:
        codes = await authenticators.new_recovery_codes(
            visit.platform,
            visit.user,
            present=visit.form.secret("present"),
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, wrong=error)
    return _recovery_codes(visit, codes, done=DONE["codes"])


async def remove_authenticator(visit: Visit) -> Response:
    """Remove the authenticator, given the password."""
    change = authenticators.remove(
        visit.platform,
        visit.user,
        present=visit.form.secret("present"),
        now=visit.now,
    )
    return await done(visit, change, "removed")


async def add_passkey(visit: Visit) -> Response:
    """Store the passkey that the device just created, given the password."""
    change = passkeys.add(
        visit.platform,
        visit.user,
        visit.form.text("credential"),
        name=visit.form.text("name"),
        present=visit.form.secret("present"),
        word=visit.user.session.id,
        relying_party=passkeys.RelyingParty(origin=visit.passkeys_at),
        now=visit.now,
    )
    return await done(visit, change, "passkey")


async def ask_remove_passkey(visit: Visit) -> Response:
    """Ask before a passkey is removed."""
    wanted = visit.query.text("passkey")
    for each in await passkeys.list_(visit.platform, visit.user):
        if each.id.hex() == wanted:
            return visit.ask("remove-passkey", back=_URL, passkey=each)
    raise NotFound


async def remove_passkey(visit: Visit) -> Response:
    """Delete a passkey."""
    change = passkeys.remove(
        visit.platform, visit.user, visit.form.text("passkey"), now=visit.now
    )
    return await done(visit, change, "forgotten")


async def done(visit: Visit, change: Awaitable[object], word: str) -> Response:
    """Apply a change and confirm it; show an error beside its form."""
    try:
        await change
    except Refused as error:
        return await _shown(visit, error)
    return redirect(f"{_URL}?done={word}")


async def _offered(
    visit: Visit, offer: NewAuthenticator, wrong: Refused | None = None
) -> Response:
    return visit.render(
        "account/authenticator.html",
        secret=offer.secret,
        qr=await secret_qr(visit, offer.uri),
        refused=wrong,
    )


def _recovery_codes(visit: Visit, codes: tuple[str, ...], *, done: str) -> Response:
    return visit.render("account/recovery_codes.html", codes=codes, done=done)


async def _shown(visit: Visit, wrong: Refused | None = None) -> Response:
    passkeys_ = await passkeys.list_(visit.platform, visit.user)
    challenge = passkeys.challenge(visit.platform, visit.user.session.id, now=visit.now)
    return visit.render(
        "account/show.html",
        sends_emails=notices.is_on(visit.platform),
        confirmed=await email_addresses.confirmed(visit.platform, visit.user),
        sessions=await profile.sessions(visit.platform, visit.user, now=visit.now),
        authenticator=await authenticators.get(visit.platform, visit.user),
        done=DONE.get(visit.query.text("done"), ""),
        refused=wrong,
        passkeys=passkeys_,
        themes=profile.THEMES,
        time_zones=profile.time_zones(),
        known=" ".join(bytes_to_base64url(each.id) for each in passkeys_),
        challenge=bytes_to_base64url(challenge),
        rp=passkeys.RelyingParty(origin=visit.passkeys_at).name,
    )
