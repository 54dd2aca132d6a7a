"""What a shell offers while one types: commands, options, and the names of nodes."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from leyden.cli.customer.session import opened
from leyden.errors import LeydenError


def _names(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001  click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """Give the nodes whose names begin like this; none where nobody can be asked."""
    try:
        with opened(ctx.params.get("profile_name") or "") as session:
            found = session.client.nodes.list_()
    except LeydenError:
        return []
    return [
        CompletionItem(each.node_name, help=each.status)
        for each in found
        if each.node_name.startswith(incomplete)
    ]


def node_argument(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the argument NODE, which a shell completes."""
    return click.argument("node", shell_complete=_names)(command)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what makes SHELL complete commands, options and the names of nodes.

    \b
    eval "$(leyden completion bash)"            # in ~/.bashrc
    leyden completion fish > ~/.config/fish/completions/leyden.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"{shell}: this shell is not known")
    root = click.get_current_context().find_root().command
    print(kind(root, {}, "leyden", "_LEYDEN_COMPLETE").source())
