"""A Kubernetes on this machine: `leyden dev cluster`."""

import asyncio
import os
import sys
from pathlib import Path

import click

from leyden.base import settings
from leyden.base.cli.building import building
from leyden.base.cli.groups import LazyGroup
from leyden.base.cli.output import (
    as_json,
    print_fields,
    print_json,
    print_one,
    print_rows,
)
from leyden.base.daemons import build as builds
from leyden.base.daemons import catalogue
from leyden.base.daemons.build import program_path
from leyden.base.daemons.progress import BuildState, BuildStep, Progress
from leyden_workshop.devcluster import binaries, packages
from leyden_workshop.devcluster import cluster as clusters
from leyden_workshop.devcluster.addresses import MAX_MACHINES
from leyden_workshop.devcluster.layout import ClusterLayout
from leyden_workshop.devcluster.status import status as look

_home = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the installation. Default: LEYDEN_HOME, or ./.leyden.",
)


@click.group(cls=LazyGroup)
def cluster() -> None:
    """Run a Kubernetes cluster on this machine, for tests."""


@cluster.command()
@click.option(
    "--machines",
    type=click.IntRange(1, MAX_MACHINES),
    help="Number of machines that run pods. Default: as before, or 1.",
)
@click.option(
    "--api-only",
    is_flag=True,
    help="Start only the API and its controllers, which need no root.",
)
@_home
def up(home: Path | None, machines: int | None, *, api_only: bool) -> None:
    """Start a Kubernetes cluster on this machine, or its missing parts.

    The first start builds Kubernetes from source, which takes many minutes, and
    extracts containerd, runc and etcd from Debian packages without installing them.
    Later starts take seconds. The cluster runs in its own namespaces until `leyden dev
    cluster down`.

    \b
    leyden dev cluster up
    leyden dev cluster up --machines 2
    leyden dev cluster up --api-only
    """
    if api_only and machines is not None:
        raise click.UsageError(
            "--machines: can't be used with --api-only, which starts no machines"
        )
    layout = _layout(home)
    with building() as progress:
        asyncio.run(
            clusters.up(
                layout,
                machines=machines,
                pods=not api_only,
                cache=builds.default_cache(os.environ),
                progress=_quieter(progress),
                say=click.echo,
            )
        )
    click.echo(f"export KUBECONFIG={layout.kubeconfig}")
    click.echo(f"kubectl is {_kubectl()}")


@cluster.command()
@_home
def down(home: Path | None) -> None:
    """Stop the cluster and all its pods, like a power cut.

    Its data stays in its folder: `leyden dev cluster up` continues from there.

    \b
    leyden dev cluster down
    """
    packaged = packages.packages_in(builds.default_cache(os.environ))
    asyncio.run(clusters.down(_layout(home), packaged, click.echo))


@cluster.command()
@_home
@as_json
def status(home: Path | None, *, as_json: bool) -> None:
    """Show machines, pods and versions; exit 1 if the cluster is not up.

    \b
    leyden dev cluster status
    """
    found = asyncio.run(look(_layout(home)))
    if as_json:
        print_json(found)
    else:
        machines, pods = found.pop("machines", []), found.pop("pods", [])
        print_fields(found)
        if machines:
            print("\nmachines")
            print_rows(machines, empty="")
        if found["api"] == "ready":
            print("\npods")
            print_rows(pods, empty="none")
    sys.exit(0 if found["api"] == "ready" else 1)


@cluster.command()
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_home
@as_json
def load(archive: Path, home: Path | None, *, as_json: bool) -> None:
    """Load an image ARCHIVE from `docker save` into every machine.

    \b
    leyden dev cluster load image.tar
    """
    packaged = packages.packages_in(builds.default_cache(os.environ))
    found = asyncio.run(clusters.load(_layout(home), archive, packaged))
    print_one({"machines": found}, as_json=as_json)


@cluster.command()
@click.argument("name", type=click.Choice(binaries.ASKED_FOR))
def path(name: str) -> None:
    """Print the path of a cluster program, after building it if necessary.

    \b
    $(leyden dev cluster path kubectl) get nodes
    """
    wanted = catalogue.find(name, sets=binaries.SETS)
    cache = builds.default_cache(os.environ)
    with building() as progress:
        asyncio.run(builds.build([wanted], cache=cache, progress=_quieter(progress)))
    print(program_path(cache, *wanted))


def _quieter(progress: Progress) -> Progress:
    def tell(step: BuildStep) -> None:
        if step.state is not BuildState.READY:
            progress(step)

    return tell


def _kubectl() -> Path:
    wanted = catalogue.find("kubectl", sets=binaries.SETS)
    return program_path(builds.default_cache(os.environ), *wanted)


def _layout(home: Path | None) -> ClusterLayout:
    return ClusterLayout.of(
        settings.load(os.environ).home_path if home is None else home
    )
