"""A node's settings and allowed addresses: as options, and the commands for them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import click
import msgspec

from leyden.base.cli.output import as_json, print_fields, print_json
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.errors import SetupError
from leyden.schemas.node_settings import IN_FORMS, TABLE, SettingsAnswer
from leyden.schemas.settings import Setting, SettingKind

# Who may reach a node is said in words of its own.
_OPTIONS: Final = tuple(
    each for each in IN_FORMS if each.kind is not SettingKind.ADDRESSES
)


def setting_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each setting except the whitelist.

    An option that is not given is None.
    """
    for setting in reversed(_OPTIONS):
        command = _option(setting)(command)
    return command


def _option(setting: Setting) -> Callable[..., Any]:
    """Return the option; one with a value has its name in forms, too."""
    name, sentence = setting.name, setting.help
    if setting.kind is SettingKind.SWITCH:
        return click.option(f"--{name}/--no-{name}", default=None, help=sentence)
    if setting.is_secret:  # never among the words of a command, which others can see
        sentence = f"From a file. {setting.help}"
        return click.option(setting.option, name, type=click.File(), help=sentence)
    form = setting.label.lower().replace(" ", "-")
    names = dict.fromkeys([name, form])  # each once
    options = [setting.option] if setting.option else [f"--{each}" for each in names]
    return click.option(*options, name, help=sentence)


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


def first_whitelist(
    addresses: tuple[str, ...], *, nobody: bool, is_here: bool
) -> list[str]:
    """Return a new node's whitelist from the options.

    The whitelist is required, except for a platform on this machine.
    """
    if addresses and nobody:
        raise SetupError("--whitelist, --allow-none: use only one of these options")
    if addresses or nobody:
        return list(addresses)
    if is_here:
        return ["127.0.0.1"]
    raise SetupError(
        "--whitelist: list the IP addresses that can reach the node, such as this "
        "machine's public address, or use --allow-none for now"
    )


@click.command()
@node_argument
@setting_options
@as_json
@with_session
def settings(session: ApiSession, node: str, *, as_json: bool, **options: Any) -> None:
    """Print a node's settings, or change some of them.

    A change restarts lnd, and you must unlock the wallet afterwards. Changes to --rest,
    --grpc and --webhook alone need no restart.

    \b
    leyden nodes settings pier
    leyden nodes settings pier --alias "the pier" --no-keysend
    """
    node_id = session.node(node).node_id
    changes = given_settings(options)
    found = (
        session.client.nodes.change_settings(node_id, **changes)
        if changes
        else session.client.nodes.get(node_id)
    )
    if as_json:
        print_json(found.settings)
        return
    print_fields(shown(found.settings))
    if restart(changes) and found.status not in {"stopped", "failed"}:
        print(
            "lnd restarts with the new settings; see `leyden nodes show`, then unlock "
            "the wallet"
        )


@click.command()
@node_argument
@click.argument("addresses", nargs=-1)
@click.option("--add", is_flag=True, help="Add ADDRESSES to the list.")
@click.option("--remove", is_flag=True, help="Remove ADDRESSES from the list.")
@click.option(
    "--allow-none",
    "nobody",
    is_flag=True,
    help="Empty the list: nobody can reach the node.",
)
@as_json
@with_session
def whitelist(
    session: ApiSession,
    node: str,
    addresses: tuple[str, ...],
    *,
    add: bool,
    remove: bool,
    nobody: bool,
    as_json: bool,
) -> None:
    """Print the IP addresses allowed to reach a node, or change them.

    ADDRESSES replace the list unless --add or --remove is given.
    Connections from removed addresses are closed within a second.

    \b
    leyden nodes whitelist pier
    leyden nodes whitelist pier --add 203.0.113.7 2001:db8::/32
    """
    if (add, remove, nobody).count(True) > 1 or (nobody and addresses):
        raise SetupError("--add, --remove, --allow-none: use only one of these options")
    if (add or remove) and not addresses:
        raise SetupError("ADDRESSES: list the IP addresses to add or remove")
    node_id = session.node(node).node_id
    before = session.client.nodes.get(node_id).settings.whitelist
    after = list(addresses)
    if add:
        after = [*before, *addresses]
    elif remove:
        after = [each for each in before if each not in addresses]
        if len(after) != len(before) - len(set(addresses)):
            raise SetupError(
                "ADDRESSES: some are not on the list; `leyden nodes whitelist NODE` "
                "prints it"
            )
    if addresses or nobody:
        before = session.client.nodes.replace_whitelist(node_id, after)
    if as_json:
        print_json({"node_id": node_id, "whitelist": before})
    else:
        print("\n".join(before) or "nobody can reach this node")
