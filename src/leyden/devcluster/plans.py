"""What the first process of a machine is to do, as data: steps and programs, in order.

A step is a command that has to succeed before what comes after it begins; a program is
started and kept running. `supervisor.py` reads it as JSON.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from leyden.files import write_private
from leyden.values import Struct


class Step(Struct, frozen=True, kw_only=True, tag="step", tag_field="kind"):
    """A command, tried again for as long as told."""

    argv: Sequence[str]
    within_s: float = 0.0


class Program(Struct, frozen=True, kw_only=True, tag="program", tag_field="kind"):
    """A program that runs from here on, and is started again when it ends."""

    name: str
    argv: Sequence[str]


class Plan(Struct, frozen=True, kw_only=True):
    """All of it."""

    logs: Path  # the folder of the programs' output
    environment: Mapping[str, str]
    todo: Sequence[Step | Program]

    def write(self, file: Path) -> None:
        """Write it down for the supervisor."""
        write_private(
            file, msgspec.json.format(msgspec.json.encode(self, enc_hook=str))
        )


def step(*argv: object, within_s: float = 0.0) -> Step:
    """Return a step."""
    return Step(argv=[str(each) for each in argv], within_s=within_s)


def shell(script: str, *words: object, within_s: float = 0.0) -> Step:
    """Return a step of the shell; the words are its $1, $2 ..."""
    return step("/bin/sh", "-ec", script, "sh", *words, within_s=within_s)


def setting(name: str, value: int) -> Step:
    """Return the step that sets something of the kernel, where it is there."""
    return shell('[ ! -e "/proc/sys/$1" ] || echo "$2" > "/proc/sys/$1"', name, value)


def settings() -> list[Step]:
    """Return what is set in each network of a cluster.

    A connection that its process left behind holds its network for minutes, unless the
    kernel gives it up early.
    """
    return [setting("net/ipv4/tcp_orphan_retries", 1)]


def program(name: str, *argv: object) -> Program:
    """Return a program."""
    return Program(name=name, argv=[str(each) for each in argv])
