"""The API session of a customer command: platform, key and client."""

import difflib
import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from leyden.base.cli import exit_codes
from leyden.client import ApiError, Client
from leyden.customer import profiles
from leyden.customer.profiles import Profile
from leyden.errors import LeydenError, SetupError
from leyden.schemas.nodes import NodeItem
from leyden.values import Struct

_NOT_FOUND = 404
_HOW = (
    "run `leyden login`, or set LEYDEN_URL and LEYDEN_KEY; for a private chain of your "
    "own: leyden up"
)

_NO_MACAROON = (
    "no macaroon of this name is stored for this node; "
    "see `leyden wallet macaroons NODE`"
)
# What is asked for by an id or a name, by the ending of the command that asks.
_WHERE = {
    "channels show": "order not found; see `leyden channels list`",
    "channels cancel": "order not found; see `leyden channels list`",
    "channels use-ticket": "order not found; see `leyden channels list`",
    "credit redeem": "coupon not found, or already redeemed; check the coupon code",
    "webhook redeliver": (
        "delivery not found; see `leyden nodes webhook deliveries NODE`"
    ),
    "wallet seed": "no seed is stored for this node; create its wallet with "
    "`leyden wallet init NODE`",
    "wallet show-macaroon": _NO_MACAROON,
    "wallet test-macaroon": _NO_MACAROON,
    "wallet backup": "this node has no channel backup yet",
}


def _profile_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return completions for the names of profiles; none if they cannot be read."""
    try:
        profiles_ = profiles.load().profiles
    except LeydenError:
        return []
    return [name for name in sorted(profiles_) if name.startswith(incomplete)]


profile_option = click.option(
    "--profile",
    "profile_name",
    envvar="LEYDEN_PROFILE",
    default="",
    shell_complete=_profile_names,
    help="Profile to use; see `leyden profile`.",
)


class ApiSession(Struct, frozen=True, kw_only=True):
    """An API client with the profile of its platform."""

    client: Client
    profile: Profile

    @property
    def is_here(self) -> bool:
        """Whether the platform is on this machine."""
        host = urlsplit(self.profile.url).hostname or ""
        return host in {"localhost", "::1"} or host.startswith("127.")

    def node(self, name_or_id: str) -> NodeItem:
        """Return a node by its name or id; raise what was probably meant."""
        try:
            return self.client.nodes.find(name_or_id)
        except ApiError as error:
            if error.status != _NOT_FOUND:
                raise
        names = [node.node_name for node in self.client.nodes.list()]
        if name_or_id in {each.node_name for each in self.client.nodes.deleted()}:
            # A repeated deletion must not lead to another node.
            raise exit_codes.Refusal(
                f"the node {name_or_id!r} is deleted; to restore it: "
                f"leyden nodes restore {name_or_id!r}",
                status=_NOT_FOUND,
            )
        near = difflib.get_close_matches(name_or_id, names, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(map(repr, near))}?"
        how = meant if near else "see `leyden nodes list`"
        raise exit_codes.Refusal(f"no node {name_or_id!r}; {how}", status=_NOT_FOUND)


def chosen(name: str) -> Profile:
    """Return the profile to use.

    It is the one of this name, else that of the environment, else the
    default profile, else the private chain on this machine.
    """
    if name:
        return profiles.find(name)
    url, key = os.environ.get("LEYDEN_URL", ""), os.environ.get("LEYDEN_KEY", "")
    if url and key:
        return _from_environment(url, key)
    if url or key:
        missing = "LEYDEN_KEY" if url else "LEYDEN_URL"
        raise exit_codes.Refusal(f"{missing} is not set; {_HOW}", status=401)
    profiles_ = profiles.load()
    if profiles_.current:
        return profiles.find(profiles_.current)
    if (here := _from_home()) is not None:
        return here
    raise exit_codes.Refusal(f"no platform configured: {_HOW}", status=401)


@contextmanager
def opened(name: str) -> Iterator[ApiSession]:
    """Open a session; errors raised in the block get a next step."""
    profile = chosen(name)
    if not (profile.key.isascii() and profile.key.isprintable()):
        raise exit_codes.Refusal(
            "LEYDEN_KEY: not a valid API key (it has characters that API keys don't "
            "have)",
            status=401,
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
            yield ApiSession(client=client, profile=profile)
        except ApiError as error:
            raise exit_codes.Refusal(
                with_next_step(error, profile), status=error.status
            ) from None
        except TimeoutError as error:
            message = f"{error}; it continues: to wait longer, use --timeout"
            raise exit_codes.TookTooLong(message) from None


def with_session(command: Callable[..., None]) -> Callable[..., None]:
    """Pass a session to a command as its first argument."""

    @functools.wraps(command)
    def run(*args: Any, profile_name: str, **options: Any) -> None:
        with opened(profile_name) as session:
            command(session, *args, **options)

    return profile_option(run)


def _not_found() -> str:
    """Return what was not found, and where to look, by the command that asked."""
    context = click.get_current_context(silent=True)
    command = context.command_path if context else ""
    where = next((each for each in _WHERE if command.endswith(each)), "")
    return _WHERE.get(where, "not found; check the name or id")


def with_next_step(error: ApiError, profile: Profile) -> str:
    """Return the platform's message, and what to do."""
    match error.status:
        case 404 if error.message == "not found":
            return _not_found()
        case 0:
            return (
                f"{error.message}; check that the platform is up and the URL is right"
            )
        case 401:
            return (
                f"{profile.url} rejected this key: it may be revoked or expired; "
                "create a new key in the dashboard, and run `leyden login`"
            )
        case 403:
            return f"{error.message.rstrip('.')}; create a key with that scope"
        case 429 | 503 if error.retry_after_s:
            return f"{error.message}; try again in {error.retry_after_s} s"
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


def home_here() -> Path:
    """Return the folder in which `leyden up` keeps an installation here."""
    return Path(os.environ.get("LEYDEN_HOME", "") or ".leyden").expanduser()


def _from_home() -> Profile | None:
    """Return the profile that `leyden up` wrote, or None."""
    file = home_here() / "dev.json"
    try:
        here = msgspec.json.decode(file.read_bytes(), type=_Here)
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
