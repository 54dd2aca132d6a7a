"""A node's settings as options, with their help and restart rules."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click
import msgspec

from leyden.errors import SetupError
from leyden.schemas.node_settings import IN_FORMS, TABLE, SettingsAnswer
from leyden.schemas.settings import Kind, Setting

# Who may reach a node is said in words of its own.
_OPTIONS: Final = tuple(each for each in IN_FORMS if each.kind is not Kind.ADDRESSES)


def setting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each setting except the whitelist.

    An option that is not given is None.
    """
    for setting in reversed(_OPTIONS):
        command = _option(setting)(command)
    return command


def _option(setting: Setting) -> Callable[..., Any]:
    name, sentence = setting.name, f"{setting.label}. {setting.help}"
    if setting.kind is Kind.SWITCH:
        return click.option(f"--{name}/--no-{name}", default=None, help=sentence)
    if setting.is_secret:  # never among the words of a command, which others can see
        sentence = f"{setting.label}, from a file. {setting.help}"
        return click.option(setting.option, name, type=click.File(), help=sentence)
    return click.option(setting.option or f"--{name}", name, help=sentence)


def given_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were said."""
    given = {each: options.get(each.name) for each in _OPTIONS}
    return {
        each.name: value.read().strip() if each.is_secret else value
        for each, value in given.items()
        if value is not None
    }


def restart(changes: Mapping[str, object]) -> bool:
    """Return whether these restart lnd, and so lock its wallet."""
    return any(TABLE[name].restarts for name in changes)


def of_a_new_node(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a new node, those that have to be said filled in."""
    suggested = {
        each.name: each.suggested
        for each in TABLE.values()
        if each.suggested is not None
    }
    return {"alias": name, **suggested, **given_settings(options)}


def shown(settings: SettingsAnswer) -> dict[str, Any]:
    """Return settings by name for printing, without those not set."""
    every = msgspec.structs.asdict(settings)
    return {name: value for name, value in every.items() if value not in ("", None)}


def whitelist(addresses: tuple[str, ...], *, nobody: bool, is_here: bool) -> list[str]:
    """Return a new node's whitelist from the options.

    The whitelist is required, except for a platform on this machine.
    """
    if addresses and nobody:
        raise SetupError("--whitelist, --nobody: use only one of these options")
    if addresses or nobody:
        return list(addresses)
    if is_here:
        return ["127.0.0.1"]
    raise SetupError(
        "--whitelist: list the IP addresses that can reach the node, such as this "
        "machine's public address, or use --nobody for now"
    )
