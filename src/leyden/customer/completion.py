"""Shell completion of commands, options and node names."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from leyden.customer.session import opened
from leyden.errors import LeydenError


def names_of_nodes(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001  click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Return completions for node names; none if the API does not respond."""
    try:
        with opened(ctx.params.get("profile_name") or "") as session:
            found = session.client.nodes.list()
    except LeydenError:
        return []
    return [
        CompletionItem(each.node_name, help=each.status)
        for each in found
        if each.node_name.startswith(incomplete)
    ]


def node_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument NODE to a command, with shell completion."""
    return click.argument("node", shell_complete=names_of_nodes)(command)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a completion script for your shell.

    \b
    eval "$(leyden completion bash)"            # in ~/.bashrc
    leyden completion fish > ~/.config/fish/completions/leyden.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"{shell}: not a supported shell")
    root = click.get_current_context().find_root().command
    print(kind(root, {}, "leyden", "_LEYDEN_COMPLETE").source())
