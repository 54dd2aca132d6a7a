"""On whose behalf a customer's command speaks, and to which platform."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from leyden.cli import exits
from leyden.cli.customer import profiles
from leyden.cli.customer.profiles import Profile
from leyden.client import ApiError, Client
from leyden.client.node_items import NodeItem
from leyden.errors import SetupError
from leyden.values import Struct

_HOW = (
    "set LEYDEN_URL and LEYDEN_KEY, or see `leyden profile add --help`; "
    "for a private chain of your own: leyden up"
)

profile_option = click.option(
    "--profile",
    "profile_name",
    envvar="LEYDEN_PROFILE",
    default="",
    help="The platform to speak to; see `leyden profile`.",
)


class Session(Struct, frozen=True, kw_only=True):
    """A client, and what belongs to the platform it speaks to."""

    client: Client
    profile: Profile

    @property
    def is_here(self) -> bool:
        """Tell whether the platform is on this machine."""
        host = urlsplit(self.profile.url).hostname or ""
        return host in {"localhost", "::1"} or host.startswith("127.")

    def node(self, name_or_id: str) -> NodeItem:
        """Find a node by its name or id."""
        return self.client.nodes.find(name_or_id)


def chosen(name: str) -> Profile:
    """Give the platform to speak to: named, from the environment, in use, or here."""
    if name:
        return profiles.find(name)
    url, key = os.environ.get("LEYDEN_URL", ""), os.environ.get("LEYDEN_KEY", "")
    if url and key:
        return _from_environment(url, key)
    if url or key:
        missing = "LEYDEN_KEY" if url else "LEYDEN_URL"
        raise exits.Refusal(f"{missing} is not set; {_HOW}", status=401)
    kept = profiles.load()
    if kept.current:
        return profiles.find(kept.current)
    if (here := _from_home()) is not None:
        return here
    raise exits.Refusal(f"no platform to speak to: {_HOW}", status=401)


@contextmanager
def opened(name: str) -> Iterator[Session]:
    """Open a session; what goes wrong in it is told with the next step."""
    profile = chosen(name)
    if not (profile.key.isascii() and profile.key.isprintable()):
        raise exits.Refusal(
            "that is no API key: it has characters that none has", status=401
        )
    try:
        client = Client(
            profile.url,
            profile.key,
            organization=profile.organization,
            authority=profile.authority,
            connect=profile.connect,
            gateway=profile.gateway,
        )
    except ValueError as error:
        raise SetupError(f"{profile.url}: {error}") from None
    with client:
        try:
            yield Session(client=client, profile=profile)
        except ApiError as error:
            raise exits.Refusal(
                _with_next_step(error, profile), status=error.status
            ) from None
        except TimeoutError as error:
            raise exits.TookTooLong(str(error)) from None


def speaking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command a session, as its first argument."""

    @functools.wraps(command)
    def run(*args: Any, profile_name: str, **options: Any) -> None:
        with opened(profile_name) as session:
            command(session, *args, **options)

    return profile_option(run)


def _with_next_step(error: ApiError, profile: Profile) -> str:
    match error.status:
        case 0:
            return f"{error.message}; is it up, and is the URL right?"
        case 401:
            return (
                f"{profile.url} does not know this key: it may be revoked or expired; "
                "make another, and see `leyden profile add --help`"
            )
        case 403:
            return f"{error.message.rstrip('.')}; make a key with that scope"
        case 429 | 503 if error.retry_after_s:
            return f"{error.message} (it asks to wait {error.retry_after_s} s)"
        case _:
            return error.message


def _from_environment(url: str, key: str) -> Profile:
    file = os.environ.get("LEYDEN_CA", "")
    try:
        authority = Path(file).read_text() if file else ""
    except OSError as error:
        raise SetupError(f"LEYDEN_CA: {file}: {error.strerror}") from None
    return Profile(
        url=url,
        key=key,
        organization=os.environ.get("LEYDEN_ORGANIZATION", ""),
        authority=authority,
        gateway=os.environ.get("LEYDEN_GATEWAY", ""),
    )


class _Gateway(msgspec.Struct):
    host: str
    rest_port: int


class _Here(msgspec.Struct):
    base_url: str
    api_key: str
    organization_id: str
    ca_path: str
    gateway: _Gateway


def _from_home() -> Profile | None:
    """Read what `leyden up` wrote down, where it did."""
    home = Path(os.environ.get("LEYDEN_HOME", "") or ".leyden").expanduser()
    try:
        here = msgspec.json.decode((home / "dev.json").read_bytes(), type=_Here)
        authority = Path(here.ca_path).read_text()
    except (OSError, msgspec.MsgspecError):
        return None
    return Profile(
        url=here.base_url,
        key=here.api_key,
        organization=here.organization_id,
        authority=authority,
        gateway=f"{here.gateway.host}:{here.gateway.rest_port}",
    )
