"""The cluster of the tests: one with two machines for a session, and what it takes."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leyden.base.daemons.build import default_cache
from leyden.errors import SetupError
from leyden_workshop.devcluster import binaries, packages, requirements
from leyden_workshop.devcluster.requirements import check_kernel
from tests.programs import built
from tests.workshop.devcluster.clusters import DevCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[DevCluster]:
    """A cluster of two machines; a machine that cannot make one says why.

    TEST_CLUSTER names the home of one that is up, to try a test again and again.
    """
    if existing := os.environ.get("TEST_CLUSTER"):
        yield DevCluster(Path(existing))
        return
    built(*binaries.WITH_PODS)
    folder = Path(tempfile.mkdtemp(prefix="cluster-"))
    made = DevCluster(folder)
    try:
        requirements.check()
        packaged = packages.packages_in(default_cache(os.environ))
        if packaged.root.exists():  # else `up` tries it, once they are there
            with ThreadPoolExecutor(1) as apart:  # who asks for us may be in a loop
                apart.submit(asyncio.run, check_kernel(packaged.environment())).result()
    except SetupError as error:
        pytest.skip(error.message)
    try:
        made.run("up", "--machines", "2")
        yield made
    finally:  # also when it did not come up: its processes may have
        made.run("down")
        shutil.rmtree(folder)


@pytest.fixture
def up(cluster: DevCluster) -> DevCluster:
    """The cluster, running: a test before may have stopped it."""
    ensure_up(cluster)
    return cluster


def ensure_up(cluster: DevCluster) -> None:
    """Start what a test before has stopped."""
    if not cluster.answers():
        cluster.run("up")
