"""What a person changes about themselves."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response
from webauthn.helpers import bytes_to_base64url

from leyden.errors import Refused
from leyden.services import passkeys, person
from leyden.web.pictures import secret_qr
from leyden.web.visits import Visit, go

Again = Callable[[Visit, Refused], Awaitable[Response]]

_URL: Final = "/app/account"
DONE: Final = {
    "password": "Your password is changed; everywhere else you are signed out.",
    "authenticator": "From now on a code of your authenticator is asked for.",
    "removed": "No code is asked for any more.",
    "passkey": "From now on that passkey signs you in.",
    "forgotten": "That passkey opens nothing any more; elsewhere you are signed out.",
    "others": "Everywhere else you are signed out.",
}


async def show(visit: Visit) -> Response:
    """Show password, second factors and sessions."""
    return await _shown(visit)


async def change_password(visit: Visit) -> Response:
    """Change the password, with the present one."""
    change = person.change_password(
        visit.platform,
        visit.who,
        present=visit.form.secret("present"),
        new=visit.form.secret("new"),
        forget_passkeys=visit.form.ticked("forget-passkeys"),
        now=visit.now,
    )
    return await _done(visit, change, "password")


async def end_others(visit: Visit) -> Response:
    """Sign out everywhere but here."""
    change = person.end_others(visit.platform, visit.who, now=visit.now)
    return await _done(visit, change, "others")


async def offer_authenticator(visit: Visit) -> Response:
    """Show a secret to take into an authenticator app, this once."""
    try:
        words, address = await person.offer_authenticator(
            visit.platform,
            visit.who,
            present=visit.form.secret("present"),
            now=visit.now,
        )
    except Refused as error:
        return await _shown(visit, wrong=error)
    drawn = await secret_qr(visit, address)
    return visit.render("account/authenticator.html", words=words, qr=drawn)


async def confirm_authenticator(visit: Visit) -> Response:
    """Ask for its codes from now on."""
    change = person.confirm_authenticator(
        visit.platform, visit.who, visit.form.text("code"), now=visit.now
    )
    return await _done(visit, change, "authenticator", otherwise=_code_again)


async def remove_authenticator(visit: Visit) -> Response:
    """Ask for no code any more, with the password."""
    change = person.remove_authenticator(
        visit.platform,
        visit.who,
        present=visit.form.secret("present"),
        now=visit.now,
    )
    return await _done(visit, change, "removed")


async def add_passkey(visit: Visit) -> Response:
    """Keep a passkey that the device has made just now, with the password."""
    change = passkeys.add(
        visit.platform,
        visit.who,
        visit.form.text("credential"),
        name=visit.form.text("name"),
        present=visit.form.secret("present"),
        word=visit.who.session.id,
        place=passkeys.Place(origin=visit.passkeys_at),
        now=visit.now,
    )
    return await _done(visit, change, "passkey")


async def remove_passkey(visit: Visit) -> Response:
    """Forget a passkey."""
    change = passkeys.remove(
        visit.platform, visit.who, visit.form.text("passkey"), now=visit.now
    )
    return await _done(visit, change, "forgotten")


async def _done(
    visit: Visit,
    change: Awaitable[object],
    word: str,
    *,
    otherwise: Again | None = None,
) -> Response:
    """Do it and say so; what is refused is said where it was asked for."""
    try:
        await change
    except Refused as error:
        return await (otherwise or _shown)(visit, error)
    return go(f"{_URL}?done={word}")


async def _code_again(visit: Visit, wrong: Refused) -> Response:
    return visit.render(
        "account/authenticator.html",
        words="",
        qr="",
        refused=wrong,
    )


async def _shown(visit: Visit, wrong: Refused | None = None) -> Response:
    kept = await passkeys.list_(visit.platform, visit.who)
    challenge = passkeys.challenge(visit.platform, visit.who.session.id, now=visit.now)
    return visit.render(
        "account/show.html",
        sessions=await person.sessions(visit.platform, visit.who),
        has_authenticator=await person.has_authenticator(visit.platform, visit.who),
        done=DONE.get(visit.query.text("done"), ""),
        refused=wrong,
        passkeys=kept,
        known=" ".join(bytes_to_base64url(each.id) for each in kept),
        challenge=bytes_to_base64url(challenge),
        rp=passkeys.Place(origin=visit.passkeys_at).name,
    )
