"""Parsing and building our Dockerfiles without Docker.

They start from nothing and add tar files, so that building one is writing its archive:
it needs no root, runs nothing and asks no registry. Any other instruction is refused.
"""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from leyden.errors import SetupError
from leyden.values import Struct
from leyden_workshop.devcluster import images

_LISTS: Final = {"ENTRYPOINT": "Entrypoint", "CMD": "Cmd"}
_WORDS: Final = {"USER": "User", "WORKDIR": "WorkingDir", "STOPSIGNAL": "StopSignal"}


class Recipe(Struct, frozen=True):
    """The instructions of a Dockerfile."""

    layers: tuple[str, ...]  # names of tar files beside it
    config: dict[str, Any]


def parse(text: str) -> Recipe:
    """Parse a Dockerfile; raise SetupError for instructions that we don't build."""
    layers: list[str] = []
    config: dict[str, Any] = {}
    instructions = list(_instructions(text))
    if not instructions or instructions[0] != ("FROM", "scratch"):
        raise SetupError("Dockerfile: the first line is not FROM scratch")
    for name, rest in instructions[1:]:
        if name == "ADD" and rest.endswith(".tar /"):
            layers.append(rest.removesuffix(" /"))
        elif name == "ENV":
            config["Env"] = [*config.get("Env", []), *shlex.split(rest)]
        elif name == "EXPOSE":
            config["ExposedPorts"] = {f"{port}/tcp": {} for port in rest.split()}
        elif name == "VOLUME":
            config["Volumes"] = {place: {} for place in rest.split()}
        elif name in _LISTS:
            config[_LISTS[name]] = json.loads(rest)
        elif name in _WORDS:
            config[_WORDS[name]] = rest
        else:
            raise SetupError(f"Dockerfile: {name} {rest}: only Docker builds that")
    return Recipe(tuple(layers), config)


def build(context: Path, name: str, *, machine: str) -> bytes:
    """Return the archive of the image that a folder with a Dockerfile makes."""
    recipe = parse((context / "Dockerfile").read_text())
    layers = [(context / each).read_bytes() for each in recipe.layers]
    return images.pack(name, layers, recipe.config, machine=machine)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, rest.strip()
