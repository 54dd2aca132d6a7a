"""`leyden events`: what happened to your organization, as it happens."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from leyden.base.cli.exit_codes import Refusal
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import local_time, plain
from leyden.base.files import write_private
from leyden.client import ApiError
from leyden.client.events import LATEST
from leyden.customer.forwarding import ForwardingTarget, secret_for
from leyden.customer.session import ApiSession, with_session
from leyden.events.rules.events import TYPES
from leyden.schemas.events import EventsAnswer, LoggedEvent

_WAIT_S = 25
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0
# Nobody answered, or somebody asked for time: it passes.
_PASSES = frozenset({0, 429, 503})


def _types(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    kinds = sorted({f"{name.split('.')[0]}.*" for name in TYPES})
    return [each for each in (*kinds, *TYPES) if each.startswith(incomplete)]


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--type",
            "types",
            multiple=True,
            shell_complete=_types,
            help="Only events of this type, like order.paid or order.*; repeatable.",
        ),
        click.option(
            "--after",
            default="",
            help="Start after the event with this id. Default: new events only.",
        ),
        click.option(
            "--all", "everything", is_flag=True, help="Start with the oldest event."
        ),
        click.option(
            "--cursor-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Store the cursor in FILE, and continue from it next time.",
        ),
    ):
        command = option(command)
    return command


@click.group(cls=LazyGroup)
def events() -> None:
    """Follow your organization's events, or forward them to a webhook endpoint."""


@events.command()
@_options
@click.option("--no-follow", is_flag=True, help="Exit after the last stored event.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@with_session
def tail(
    session: ApiSession,
    types: tuple[str, ...],
    after: str,
    cursor_file: Path | None,
    *,
    everything: bool,
    no_follow: bool,
    as_json: bool,
) -> None:
    """Print events as they happen, until Ctrl-C.

    \b
    leyden events tail
    leyden events tail --type 'order.*' --type payment.received --json
    leyden events tail --cursor-file ~/.leyden-events   # continues where it ended
    leyden events tail --all --no-follow
    """
    position = _Position(after, cursor_file, everything=everything or no_follow)
    for page in _pages(session, types, position, follow=not no_follow):
        for event in page.events:
            line = msgspec.json.encode(event).decode() if as_json else _line(event)
            click.echo(line)
        position.keep(page.cursor)


@events.command()
@click.argument("url")
@_options
@click.option(
    "--secret-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the signing secret. Default: create one and print it.",
)
@with_session
def forward(
    session: ApiSession,
    url: str,
    types: tuple[str, ...],
    after: str,
    cursor_file: Path | None,
    secret_file: Path | None,
    *,
    everything: bool,
) -> None:
    """Send each event to URL as a webhook, signed, until Ctrl-C.

    For development: URL can be on this machine, without a public name. Sends each event
    once, and prints the response. Signatures follow Standard Webhooks.

    \b
    leyden events forward http://localhost:3000/hook
    leyden events forward http://localhost:3000/hook --type 'order.*' --all
    """
    secret = secret_for(secret_file)
    position = _Position(after, cursor_file, everything=everything)
    if secret_file is None:
        click.echo(f"signed with the secret {secret}", err=True)
    with ForwardingTarget(url, secret) as target:
        for page in _pages(session, types, position, follow=True):
            for event in page.events:
                answer = target.send(event, now=datetime.now(UTC))
                click.echo(f"{event.type} {event.id} -> {plain(answer)}")
                position.keep(event.id)
            position.keep(page.cursor)


class _Position:
    """Where to begin, and where it is kept."""

    def __init__(self, after: str, file: Path | None, *, everything: bool) -> None:
        self._file = file
        content = _read(file) if file is not None else ""
        self.after = after or content or ("" if everything else LATEST)

    def keep(self, cursor: str) -> None:
        """Go on from here the next time."""
        if cursor != self.after:
            self.after = cursor
            if self._file is not None:
                write_private(self._file, f"{cursor}\n")


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return ""


def _pages(
    session: ApiSession, types: tuple[str, ...], position: _Position, *, follow: bool
) -> Iterator[EventsAnswer]:
    """Yield pages; where the platform does not respond, try again until it does."""
    pause_s = _FIRST_PAUSE_S
    wait_s = 0  # the first answer comes at once, and says where this begins
    while True:
        try:
            page = session.client.events.page(
                position.after, types=types, wait_s=wait_s
            )
        except ApiError as error:
            if error.status not in _PASSES or not follow:
                raise _explained(error) from None
            click.echo(f"{error.message}; retrying", err=True)
            time.sleep(error.retry_after_s or pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            continue
        yield page
        pause_s, wait_s = _FIRST_PAUSE_S, _WAIT_S
        if not follow and not page.has_more:
            return


def _explained(error: ApiError) -> Exception:
    if error.status == 410:  # noqa: PLR2004  Gone
        return Refusal(
            "--after: the events after this id were deleted; use --all, without "
            "--after and the cursor file",
            status=410,
        )
    return error


def _line(event: LoggedEvent) -> str:
    facts = " ".join(f"{name}={_value(value)}" for name, value in event.data.items())
    return plain(f"{local_time(event.created)}  {event.type}  {facts}")


def _value(value: str | int | list[str]) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return repr(value) if isinstance(value, str) and " " in value else str(value)
