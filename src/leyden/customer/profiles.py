"""Profiles: platforms and their API keys, in one file per user.

`$XDG_CONFIG_HOME/leyden/profiles.json`, mode 0600, written atomically.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from leyden.base.cli import exit_codes
from leyden.base.cli.confirmation import confirm, on_terminal, yes_option
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import as_json, print_done, print_json, print_rows
from leyden.base.cli.secrets import prompted
from leyden.base.files import unreadable, write_private
from leyden.client import ApiError, Client, Key
from leyden.client.wire import Server, address
from leyden.errors import SetupError

_FILE = Path("leyden") / "profiles.json"
_UNAUTHORIZED = 401


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One platform with its URL, API key and certificate authority."""

    url: str
    key: str
    organization: str = ""
    authority: str = ""  # PEM: who signs the nodes' certificates
    connect: str = ""  # where the API is, if its name does not lead there
    gateway: str = ""  # where the nodes are, likewise

    def __repr__(self) -> str:
        return f"Profile({self.url})"


class Profiles(msgspec.Struct, frozen=True, kw_only=True):
    """All profiles, and the name of the default one."""

    current: str = ""
    profiles: dict[str, Profile] = {}


def file_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the path of the profiles file."""
    config = environment.get("XDG_CONFIG_HOME", "")
    home = environment.get("HOME", "")
    folder = Path(config) if config else Path(home or "~").expanduser() / ".config"
    return folder / _FILE


def load() -> Profiles:
    """Load the profiles; there are none without a file."""
    path = file_path()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Profiles)
    except FileNotFoundError:
        return Profiles()
    except (OSError, msgspec.MsgspecError) as error:
        raise SetupError(f"{path}: cannot be read ({unreadable(error)})") from None


def find(name: str) -> Profile:
    """Return the profile of this name."""
    profiles = load().profiles
    if name not in profiles:
        known = ", ".join(sorted(profiles))
        how = (
            f"choose one of {known}" if profiles else "see `leyden profile add --help`"
        )
        raise SetupError(f"no profile {name!r}; {how}")
    return profiles[name]


def _save(profiles: Profiles) -> None:
    path = file_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, msgspec.json.format(msgspec.json.encode(profiles)) + b"\n")


@click.group(cls=LazyGroup)
def profile() -> None:
    """Manage profiles: platforms' URLs and your API keys.

    A command uses the first of these that is set: the profile in --profile or
    LEYDEN_PROFILE; LEYDEN_URL and LEYDEN_KEY; the profile set by `leyden profile use`;
    the private chain that `leyden up` started.
    """


def _place_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say where a platform is, and with which key."""
    for option in (
        click.option(
            "--gateway", default="", help="HOST:PORT of the gateway to nodes."
        ),
        click.option(
            "--connect",
            default="",
            help="HOST:PORT of the API, if it differs from URL.",
        ),
        click.option(
            "--ca-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help=(
                "The platform's root certificate, as PEM: nodes must present "
                "certificates that it signed."
            ),
        ),
        click.option(
            "--key-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="File with the API key. Default: LEYDEN_KEY, or a prompt.",
        ),
    ):
        command = option(command)
    return command


@profile.command()
@click.argument("name")
@click.option(
    "--url", required=True, help=("URL of the API, like https://api.example.org.")
)
@_place_options
@as_json
def add(name: str, url: str, *, as_json: bool, **place: Any) -> None:
    """Add or change the profile NAME, after testing its key.

    \b
    leyden profile add work --url https://api.example.org --key-file key
    """
    _print_added(name, *_tested(name, url, **place), as_json=as_json)


@click.command()
@click.argument("url", required=False)
@click.option("--name", help="Name of the profile. Default: the host of URL.")
@_place_options
@as_json
def login(url: str | None, name: str | None, *, as_json: bool, **place: Any) -> None:
    """Store a platform's URL and your API key, and use them from now on.

    Asks for what you leave out, and tests the key. You create keys in the dashboard.

    \b
    leyden login https://api.example.org
    leyden login https://api.example.org --name work --key-file key
    """
    if url is None:
        on_terminal("URL: name the platform.", instead="type it after `login`")
        url = click.prompt("URL of the platform", err=True)
    name = name or urlsplit(url).hostname or "default"
    made, own_key = _tested(name, url, **place)
    _print_added(name, made, own_key, current=name, as_json=as_json)


def _tested(
    name: str,
    url: str,
    *,
    key_file: Path | None,
    ca_file: Path | None,
    connect: str,
    gateway: str,
) -> tuple[Profile, Key]:
    """Return a profile, and what its key is, from the platform."""
    try:
        Server.at(url, connect=connect)
        if gateway:
            address(gateway)
        authority = ca_file.read_text() if ca_file else ""
        key = prompted("API key", file=key_file, variable="LEYDEN_KEY")
        with Client(url, key, authority=authority, connect=connect) as client:
            own_key = client.key()
    except ApiError as error:
        refused = error.status == _UNAUTHORIZED
        said = (
            f"{url} rejected this key; create one in its dashboard, {url}/app/keys"
            if refused
            else error.message
        )
        raise exit_codes.Refusal(f"{name}: {said}", status=error.status) from None
    except (ValueError, OSError) as error:
        raise SetupError(f"{name}: {error}") from None
    made = Profile(
        url=url,
        key=key,
        organization=own_key.organization_id,
        authority=authority,
        connect=connect,
        gateway=gateway,
    )
    return made, own_key


def _print_added(
    name: str, made: Profile, own_key: Key, *, current: str = "", as_json: bool
) -> None:
    """Store a profile, and print whose it is."""
    existing = load()
    _save(
        Profiles(
            current=current or existing.current or name,
            profiles={**existing.profiles, name: made},
        )
    )
    print_done(
        {
            "profile": name,
            "organization_id": own_key.organization_id,
            "organization_name": own_key.organization_name,
            "key_name": own_key.key_name,
        },
        f"{name}: {own_key.organization_name}, key {own_key.key_name!r}",
        as_json=as_json,
    )


@profile.command()
@click.argument("name")
@as_json
def use(name: str, *, as_json: bool) -> None:
    """Set NAME as the default profile.

    \b
    leyden profile use work
    """
    find(name)
    _save(Profiles(current=name, profiles=load().profiles))
    print_done({"current": name}, f"{name} is now the default profile", as_json=as_json)


@profile.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """List profiles; their API keys are never printed.

    \b
    leyden profile list
    """
    profiles = load()
    rows = [
        {
            "name": name,
            "url": each.url,
            "organization": each.organization,
            "current": "yes" if name == profiles.current else "",
        }
        for name, each in sorted(profiles.profiles.items())
    ]
    if as_json:
        print_json({"profiles": rows})
    else:
        print_rows(rows, empty="no profiles yet; see: leyden profile add --help")


@profile.command()
@click.argument("name")
@yes_option
@as_json
def remove(name: str, *, yes: bool, as_json: bool) -> None:
    """Remove the profile NAME and its stored key; the key stays valid.

    \b
    leyden profile remove work
    """
    find(name)
    confirm(f"Remove the profile {name} and its stored key?", yes=yes)
    profiles = load()
    left = {each: one for each, one in profiles.profiles.items() if each != name}
    current = profiles.current if profiles.current in left else ""
    _save(Profiles(current=current, profiles=left))
    print_done(
        {"removed": name},
        f"{name} is removed; its key stays valid until you revoke it",
        as_json=as_json,
    )
