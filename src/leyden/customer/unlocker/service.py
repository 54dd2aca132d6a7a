"""`leyden unlocker install` and `check`: the unlocker as a service of its user.

1. The node's certificate and the wallet password are written to files that only you
   can read, and the node to the list of those to unlock.
2. A systemd user unit, or a launchd agent, is written beside your other ones.
3. You enable it with the commands that are printed.

It asks the nodes themselves every 30 seconds, so it needs no public address.
"""

import asyncio
import json
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from leyden.base.cli.output import as_json, print_json, print_rows
from leyden.base.files import write_private, write_whole
from leyden.client import ApiError, vault
from leyden.customer import profiles
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.customer.unlocker import unlocking
from leyden.customer.unlocker.nodes import NodeEntry, UnlockedNode, listed, load
from leyden.customer.wallet.reaching import (
    ADMIN,
    password_option,
    wallet_password,
)
from leyden.errors import (
    CannotOpen,
    Conflict,
    LeydenError,
    NodeAway,
    SetupError,
    WrongPassword,
)

_EVERY_S: Final = 30
_REST_PORT: Final = 8080
_UNIT: Final = "leyden-unlocker"
_LABEL: Final = "leyden.unlocker"
_READABLE: Final = 0o644
_CHECK_S: Final = 10


def _folder() -> Path:
    return profiles.file_path().parent / "unlocker"


def _config() -> Path:
    return _folder() / "nodes.toml"


@click.command()
@node_argument
@password_option
@with_session
def install(session: ApiSession, node: str, *, password_file: Path | None) -> None:
    """Set up this machine to unlock NODE whenever it is locked.

    Writes the wallet password to a file that only you can read, and a service of yours
    (systemd or launchd). Run it on your own machine, not on the platform's, once for
    each node. Then enable the service with the commands that it prints.

    \b
    leyden unlocker install pier
    """
    found = session.node(node)
    password = wallet_password(password_file)
    is_known = _opens_vault(session, found.node_id, password)
    host, port = session.client.rest_address(found.node_id)
    is_direct = (host, port) == (found.api_endpoint, _REST_PORT)
    folder, api = _folder(), found.api_endpoint
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    chain = session.profile.authority or session.client.nodes.certificate(found.node_id)
    write_private(folder / f"{api}.password", f"{password}\n")
    write_private(folder / f"{api}.pem", chain)
    new = NodeEntry(
        api=api,
        password_file=f"{api}.password",
        ca_file=f"{api}.pem",
        connect="" if is_direct else f"{host}:{port}",
    )
    kept = listed(_config()) if _config().exists() else []
    _write([each for each in kept if each.api != api] + [new])
    (this,) = [each for each in load(_config()) if each.api == api]
    try:
        how = asyncio.run(_reached(this))
    except Conflict as error:
        how = f"{error.message}: leyden wallet init {found.node_name!r}"
    except LeydenError as error:
        how = f"{error.message}; see `leyden nodes whitelist {found.node_name!r}`"
    click.echo(f"node      {found.node_name}: {how}")
    click.echo(
        "password  opens the vault"
        if is_known
        else "password  not checked: the vault has no admin macaroon to try it on"
    )
    click.echo(f"files     {folder}")
    click.echo("")
    click.echo("Anyone who can read these files can unlock the node. To enable it:")
    for line in _service(["unlocker", "--config", str(_config())]):
        click.echo(f"  {line}")


def _write(nodes: Sequence[NodeEntry]) -> None:
    lines = []
    for each in nodes:
        lines.append("[[node]]")
        for name, value in msgspec.to_builtins(each).items():
            lines.append(f"{name} = {json.dumps(value)}")  # as TOML has strings
    write_private(_config(), "\n".join([*lines, ""]))


def _opens_vault(session: ApiSession, node_id: str, password: str) -> bool:
    """Return whether a backup could be tried; raise if the password is wrong for it."""
    try:
        stored = vault.macaroon(session.client.backups, node_id, ADMIN)
    except ApiError:
        return False
    try:
        vault.open_(stored, password)
    except CannotOpen:
        raise WrongPassword(
            "the password doesn't open the node's vault, so it isn't the wallet's"
        ) from None
    return True


async def _reached(node: UnlockedNode) -> str:
    try:
        async with asyncio.timeout(_CHECK_S):
            state = await unlocking.state(node)
    except TimeoutError:
        raise NodeAway("the node does not respond") from None
    if state == "NON_EXISTING":
        raise Conflict("the node has no wallet yet")
    return "locked" if state == "LOCKED" else "reached, not locked"


def _service(words: Sequence[str]) -> list[str]:
    """Write the service; return the commands that enable it."""
    program = shutil.which(sys.argv[0]) or shutil.which("leyden") or sys.argv[0]
    command = [str(Path(program).absolute()), *words, "--every", str(_EVERY_S)]
    if sys.platform == "darwin":
        file = Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
        agent = {
            "Label": _LABEL,
            "ProgramArguments": command,
            "RunAtLoad": True,
            "KeepAlive": True,
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, plistlib.dumps(agent), mode=_READABLE)
        return [
            f"launchctl bootout gui/$(id -u)/{_LABEL} 2>/dev/null",
            f"launchctl bootstrap gui/$(id -u) {json.dumps(str(file))}",
            "leyden unlocker check",
        ]
    if sys.platform == "win32":
        line = subprocess.list2cmdline(command)
        return [f"at each logon, in the Task Scheduler: {line}"]
    file = profiles.file_path().parents[1] / "systemd" / "user" / f"{_UNIT}.service"
    file.parent.mkdir(parents=True, exist_ok=True)
    quoted = (json.dumps(each, ensure_ascii=False) for each in command)
    started = " ".join(quoted).replace("%", "%%").replace("$", "$$")
    unit = f"""\
[Unit]
Description=Unlocks Lightning nodes (leyden unlocker)

[Service]
ExecStart={started}
Restart=always
RestartSec=10

[Install]
WantedBy=default.target
"""
    write_whole(file, unit, mode=_READABLE)
    return [
        "systemctl --user daemon-reload",
        f"systemctl --user enable {_UNIT}",
        f"systemctl --user restart {_UNIT}",
        "loginctl enable-linger  # also while you are not logged in",
        "leyden unlocker check",
    ]


@click.command()
@as_json
@with_session
def check(session: ApiSession, *, as_json: bool) -> None:
    """Check whether the installed unlocker would work, without unlocking anything.

    Asks each node over its own certificate, tries the password on the vault, and looks
    whether the service runs.

    \b
    leyden unlocker check
    """
    if not _config().exists():
        raise SetupError("nothing is installed here: leyden unlocker install NODE")
    ids = {each.api_endpoint: each.node_id for each in session.client.nodes.list()}
    rows = [_checked(session, each, ids.get(each.api)) for each in load(_config())]
    runs = _runs()
    works = runs is not False and all(each["works"] for each in rows)
    if as_json:
        print_json({"works": works, "service_runs": runs, "nodes": rows})
    else:
        print_rows(rows, empty="no nodes are listed: leyden unlocker install NODE")
        told = {True: "runs", False: "does not run", None: "unknown to this command"}
        click.echo(f"service: {told[runs]}")
    if not works:
        raise Conflict("the unlocker would not unlock every node")


def _checked(
    session: ApiSession, node: UnlockedNode, node_id: str | None
) -> dict[str, str | bool]:
    password = state = why = ""
    if node_id is None:
        why = "not a node of yours any more"
    else:
        try:
            is_tried = _opens_vault(session, node_id, node.password.read())
            password = "opens the vault" if is_tried else "not checked"
            state = asyncio.run(_reached(node))
        except LeydenError as error:
            why = error.message
    return {
        "node": node.api,
        "works": not why,
        "password": password,
        "state": state,
        "why": why,
    }


def _runs() -> bool | None:
    """Return whether the service runs; None where nobody can say."""
    if sys.platform == "darwin":
        asked = ["launchctl", "list", _LABEL]
    else:
        asked = ["systemctl", "--user", "is-active", "--quiet", _UNIT]
    if shutil.which(asked[0]) is None:
        return None
    done = subprocess.run(asked, capture_output=True, check=False, timeout=_CHECK_S)
    return done.returncode == 0
