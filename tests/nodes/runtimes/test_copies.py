"""A node's files leave one side and arrive at the other as they were, or not at all."""

import asyncio
import os
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leyden.errors import CannotStart, SetupError
from leyden.lnd.trust import trusting_whenever
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import NEVER, Start
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes import copies
from leyden.nodes.runtimes.copies import Content
from leyden.nodes.runtimes.local import counter
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.nodes.runtimes.local.local_move_endpoint import LocalMoveEndpoint
from leyden.values import replace
from tests.authority import Authority
from tests.nodes.contracts.runtimes import LocalRuntimeCase, install_stand_in
from tests.nodes.contracts.sides import clean, start_again, start_with_wallet
from tests.nodes.rules.nodes import a_node
from tests.waiting import until

# companion/copy_test.go has the same: both sides compute it.
DIGEST = "ed65c6a6477bc0ab9de1d962660dbb1ca4f7566b9b3af8d625a5d3cb11d5448d"


def two_files(folder: Path) -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "a").write_text("light")
    (folder / "data/b c").write_text("harbour")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "lnd.conf").write_text("each start writes it")
    return folder


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def parts(*given: bytes) -> AsyncIterator[bytes]:
    for each in given:
        yield each


async def test_a_copy_is_equal_and_has_no_links(tmp_path: Path) -> None:
    origin = two_files(tmp_path / "origin")
    assert copies.content(origin) == Content(digest=DIGEST, size=12)
    await copies.unpack(tmp_path / "copy", copies.packed(origin))
    assert copies.content(tmp_path / "copy") == Content(digest=DIGEST, size=12)
    assert names(tmp_path / "copy") == ["a", "data"]


async def test_a_folder_that_cannot_be_read_is_not_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing, origin = tmp_path / "missing", two_files(tmp_path / "origin")

    def refused(where: str) -> Any:
        if where.endswith("data"):
            raise PermissionError(f"{where}: permission denied")
        return really(where)

    really = os.scandir
    monkeypatch.setattr(os, "scandir", refused)
    for folder in (missing, origin):
        with pytest.raises(OSError, match=r"missing|denied"):
            copies.content(folder)
        with pytest.raises(OSError, match=r"missing|denied"):
            _ = [part async for part in copies.packed(folder)]
    assert copies.size(missing) == 0


async def test_a_large_file_arrives_whole(tmp_path: Path) -> None:
    (tmp_path / "origin").mkdir()
    (tmp_path / "origin/channel.db").write_bytes(os.urandom(9 << 20))
    await copies.unpack(tmp_path / "copy", copies.packed(tmp_path / "origin"))
    assert copies.content(tmp_path / "copy") == copies.content(tmp_path / "origin")


@pytest.mark.parametrize("length", [0, 300, 600])
async def test_an_archive_that_is_cut_short_is_refused(
    tmp_path: Path, length: int
) -> None:
    path = b"".join(
        [part async for part in copies.packed(two_files(tmp_path / "origin"))]
    )
    with pytest.raises((SetupError, OSError)):
        await copies.unpack(tmp_path / "copy", parts(path[:length]))


async def test_a_file_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("../outside")
    archive = parts(info.tobuf(), bytes(1024))
    with pytest.raises(SetupError, match="outside"):
        await copies.unpack(tmp_path / "copy", archive)


class Moving:
    """A node that has run here, and the side it is moved from."""

    def __init__(self, case: LocalRuntimeCase) -> None:
        self.runtime_case = case
        self.side = LocalMoveEndpoint(case.layout, grace_s=10)
        self.node = a_node()

    async def wallet(self) -> None:
        """Start the node, and leave it running with a wallet."""
        self.node = await start_with_wallet(self.runtime_case, self.node)

    async def start(self, last: Start = NEVER) -> Node:
        return await start_again(self.runtime_case, self.node, last)


@pytest.fixture
async def moving(tmp_path: Path) -> AsyncIterator[Moving]:
    case = LocalRuntimeCase(tmp_path / "nodes", install_stand_in(tmp_path))
    yield Moving(case)
    await case.close()


async def test_what_is_sealed_has_no_lnd_and_is_started_by_nobody(
    moving: Moving,
) -> None:
    await moving.wallet()
    spec = moving.runtime_case.launch_spec(moving.node)
    for _ in range(2):
        await moving.side.seal(moving.node, spec)
    await until(
        lambda: (
            [each.alive for each in moving.runtime_case.observations][-1:] == [False]
        )
    )
    with pytest.raises(CannotStart, match="has a wallet, and"):
        await moving.start()
    assert (await moving.side.content(moving.node)).size >= len("money")
    for _ in range(2):
        await moving.side.unseal(moving.node)
    assert (await moving.start()).process


async def test_a_start_that_began_before_it_was_sealed_makes_no_other_folder(
    moving: Moving, tmp_path: Path
) -> None:
    """An lnd in it would have no wallet, and be in the way of what comes back."""
    await moving.wallet()
    case, begun, may_go_on = moving.runtime_case, asyncio.Event(), asyncio.Event()

    async def slowly(_: Version) -> Path:
        begun.set()
        await may_go_on.wait()
        return tmp_path / "lnd"

    case.runtime = LocalRuntime(
        case.layout, binary=slowly, trusts=trusting_whenever(Authority().pem)
    )
    await moving.side.seal(moving.node, case.launch_spec(moving.node))
    await moving.side.unseal(moving.node)  # so that nothing runs
    starting = asyncio.create_task(moving.start())
    await begun.wait()
    await moving.side.seal(moving.node, case.launch_spec(moving.node))
    may_go_on.set()
    with pytest.raises(FileNotFoundError):
        await starting
    (left,) = names(case.root)
    assert left.startswith(f"{moving.node.id}.sealed-")


async def test_what_arrives_is_started_and_what_was_kept_from_before_is_not(
    moving: Moving, tmp_path: Path
) -> None:
    await moving.wallet()
    here, node = moving.side, moving.node
    spec = moving.runtime_case.launch_spec(node)
    local_side = LocalMoveEndpoint(
        replace(moving.runtime_case.layout, root=tmp_path / "there"), grace_s=10
    )
    (tmp_path / "there").mkdir()
    await here.seal(node, spec)
    sealed = await here.content(node)
    for _ in range(2):
        copy = await local_side.write(node, spec, here.read(node), sealed)
    known = Start(number=1, copy="any")
    for _ in range(2):
        start_ = await local_side.settle(node, copy, known)
        assert start_.number == 2
    assert names(tmp_path / "there") == [node.id]
    # Somebody puts the old folder back where it was.
    await here.unseal(node)
    with pytest.raises(
        CannotStart, match="is from start 1, but the node was started 2"
    ):
        await moving.start(start_)
    await clean(here, node)
    assert moving.runtime_case.layout.folder(node).is_dir(), (
        "cleaning takes no node's folder"
    )
    assert counter.read(tmp_path / "there" / node.id / "starts") == start_


async def test_a_node_that_was_hardly_started_is_moved_without_files(
    moving: Moving,
) -> None:
    node, root = moving.node, moving.runtime_case.layout.root / "there"
    moving.runtime_case.layout.folder(node).mkdir()  # and then its start was killed
    root.mkdir()
    target = LocalMoveEndpoint(
        replace(moving.runtime_case.layout, root=root), grace_s=10
    )
    spec = moving.runtime_case.launch_spec(node)
    for _ in range(2):
        await moving.side.seal(node, spec)
    sealed = await moving.side.content(node)
    assert sealed.size == 0
    copy = await target.write(node, spec, moving.side.read(node), sealed)
    assert names(root) == [copy]


async def test_a_folder_that_is_in_the_way_is_told_and_left(
    moving: Moving, tmp_path: Path
) -> None:
    await moving.wallet()
    node, spec = moving.node, moving.runtime_case.launch_spec(moving.node)
    await moving.side.seal(node, spec)
    origin = two_files(tmp_path / "origin")
    copy = await moving.side.write(
        node, spec, copies.packed(origin), copies.content(origin)
    )
    moving.runtime_case.layout.folder(node).mkdir()
    with pytest.raises(SetupError, match="is not the copy that arrived"):
        await moving.side.settle(node, copy, NEVER)
    for call in (moving.side.unseal(node), moving.side.seal(node, spec)):
        with pytest.raises(SetupError, match="move the others away"):
            await call
    await clean(moving.side, node)
    assert names(moving.runtime_case.root) == [node.id]


async def test_a_copy_that_differs_is_refused_and_leaves_nothing(
    moving: Moving, tmp_path: Path
) -> None:
    node, spec = moving.node, moving.runtime_case.launch_spec(moving.node)
    origin = two_files(tmp_path / "origin")
    sealed = replace(copies.content(origin), digest="another")
    with pytest.raises(SetupError, match="differs from the original: 12 bytes"):
        await moving.side.write(node, spec, copies.packed(origin), sealed)
    assert names(moving.runtime_case.root) == []


async def test_a_copy_that_is_missing_is_not_taken_for_one_that_was_settled(
    moving: Moving,
) -> None:
    with pytest.raises(SetupError, match="is missing"):
        await moving.side.settle(moving.node, f"{moving.node.id}.copy-1", NEVER)
