"""Commands whose bodies are imported once they run.

What a body needs can take a second to import: help and completion go without. The
command, with its options and its help, stands in one module; its body, a function of
the same name and parameters, in another.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

Command = Callable[..., None]


def body_in(module: str) -> Callable[[Command], Command]:
    """Let a command run the function of its own name in that module."""

    def with_body(command: Command) -> Command:
        @functools.wraps(command)
        def run(*args: Any, **options: Any) -> None:
            getattr(importlib.import_module(module), command.__name__)(*args, **options)

        run.__dict__["body_in"] = module
        return run

    return with_body
