"""The plan of a machine's first process, as data: steps and programs, in order.

A step is a command that must succeed before the next item; a program is started and
kept running. `supervisor.py` reads the plan as JSON.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from leyden.base.files import write_private
from leyden.values import Struct


class PlannedStep(Struct, frozen=True, kw_only=True, tag="step", tag_field="kind"):
    """A command, retried for up to `within_s`."""

    argv: Sequence[str]
    within_s: float = 0.0


class PlannedProgram(
    Struct, frozen=True, kw_only=True, tag="program", tag_field="kind"
):
    """A program that is started, and restarted when it ends."""

    name: str
    argv: Sequence[str]


class MachinePlan(Struct, frozen=True, kw_only=True):
    """A plan."""

    logs: Path  # the folder of the programs' output
    environment: Mapping[str, str]
    todo: Sequence[PlannedStep | PlannedProgram]

    def write(self, file: Path) -> None:
        """Write the plan for the supervisor."""
        write_private(
            file, msgspec.json.format(msgspec.json.encode(self, enc_hook=str))
        )


def step(*argv: object, within_s: float = 0.0) -> PlannedStep:
    """Return a step."""
    return PlannedStep(argv=[str(each) for each in argv], within_s=within_s)


def shell(script: str, *words: object, within_s: float = 0.0) -> PlannedStep:
    """Return a step that runs a shell script; the words are its $1, $2 ..."""
    return step("/bin/sh", "-ec", script, "sh", *words, within_s=within_s)


def setting(name: str, value: int) -> PlannedStep:
    """Return a step that sets a kernel parameter, if it exists."""
    return shell('[ ! -e "/proc/sys/$1" ] || echo "$2" > "/proc/sys/$1"', name, value)


def settings() -> list[PlannedStep]:
    """Return the steps that set kernel parameters in each network of a cluster.

    A connection left by an ended process keeps the network namespace for minutes,
    unless the kernel gives up on it early.
    """
    return [setting("net/ipv4/tcp_orphan_retries", 1)]


def program(name: str, *argv: object) -> PlannedProgram:
    """Return a program."""
    return PlannedProgram(name=name, argv=[str(each) for each in argv])
