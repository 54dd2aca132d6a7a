"""F4: the power fails, and with it all that was written and never synced.

A `kill -9` alone does not show this: the kernel writes what it was handed. So every
write of a story is watched, and for each thing it says a disk is made up that has just
what was synced until then. What was said is on it.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leyden.base.database import schema
from leyden.channels import orders
from leyden.channels.books.verify import verify
from leyden.channels.money import credit
from leyden.channels.rules.orders import OrderStatus
from leyden.channels.tickets import ticket_source
from tests.channels.orders_harness import PRICE
from tests.crash import orders_victim
from tests.crash.orders_victim import TEAM, WORTH, order_id

pytestmark = [pytest.mark.usefixtures("strace"), pytest.mark.timeout(300)]

_WORDS = ("redeemed", "created", "ticket", "refund")
_WATCHED = "pwrite64,ftruncate,fsync,fdatasync,write"
_LINE = re.compile(
    r"(?P<pid>\d+) +(?:<\.\.\. (?P<resumed>\w+) resumed>"
    r"|(?P<call>\w+)\((?P<fd>\d+)<(?P<path>[^>]*)>(?:\(deleted\))?(?P<rest>.*))"
)
_TEXT = re.compile(r', ("(?:[^"\\]|\\.)*")(?:\.\.\.)?, \d+(?:, (\d+))?')
_Change = tuple[int, bytes | None]  # from where on; None cuts the file off there


@dataclass
class Disk:
    """What was written, and what of it is there when the power comes back."""

    durable: dict[str, bytearray]
    waiting: defaultdict[str, list[_Change]] = field(
        default_factory=lambda: defaultdict(list)
    )
    syncing: dict[str, tuple[str, int]] = field(default_factory=dict)  # by pid
    folders: set[str] = field(default_factory=set)  # whose names were synced

    def begin_to_sync(self, pid: str, path: str) -> None:
        """Only what was written before a sync began is sure to be in it."""
        self.syncing[pid] = path, len(self.waiting[path])

    def synced(self, pid: str) -> None:
        path, count = self.syncing.pop(pid)
        file = self.durable.setdefault(path, bytearray())
        for at, data in self.waiting[path][:count]:
            if data is None:
                del file[at:]
            else:
                file.extend(bytes(max(at - len(file), 0)))
                file[at : at + len(data)] = data
        del self.waiting[path][:count]
        self.folders.add(path)


def played(log: Path, disk: Disk) -> Iterator[str]:
    """Do to the disk what the log tells; stop at each line that was said."""
    saying = b""
    for line in log.read_text().splitlines():
        if (answer := _LINE.match(line)) is None:
            continue
        pid, call, path, rest = (
            answer["pid"],
            answer["call"],
            answer["path"],
            answer["rest"],
        )
        if answer["resumed"] in {"fsync", "fdatasync"}:
            disk.synced(pid)
        elif call in {"fsync", "fdatasync"}:
            disk.begin_to_sync(pid, path)
            if "<unfinished" not in rest:
                disk.synced(pid)
        elif call == "pwrite64":
            text = _TEXT.match(rest)
            assert text is not None, line[:200]
            disk.waiting[path].append((int(text[2]), _bytes(text[1])))
        elif call == "ftruncate":
            disk.waiting[path].append((int(re.findall(r"\d+", rest)[0]), None))
        elif call == "write" and answer["fd"] == "1":
            text = _TEXT.match(rest)
            assert text is not None, line[:200]
            *lines, saying = (saying + _bytes(text[1])).split(b"\n")
            yield from (each.decode() for each in lines)


def _bytes(text: str) -> bytes:
    """Read a string as strace writes it: as C, and so as Python does."""
    found = ast.literal_eval(f"b{text}")
    assert isinstance(found, bytes)
    return found


async def test_what_was_said_is_there_when_the_power_comes_back(tmp_path: Path) -> None:
    folder, log = tmp_path / "before", tmp_path / "calls"
    folder.mkdir()
    file = folder / "leyden.db"
    schema.migrate(f"sqlite:///{file}")
    disk = Disk({str(file): bytearray(file.read_bytes())})
    subprocess.run(
        [
            *("strace", "-f", "-qq", "-y", "-s", "1000000", "-o", str(log)),
            *("-e", f"trace={_WATCHED}", "-e", "signal=none"),
            *(sys.executable, "-m", "tests.crash.orders_victim", "one order"),
            *(f"sqlite:///{file}", str(folder)),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    said: list[str] = []
    for number, word in enumerate(played(log, disk)):
        if not word.startswith(_WORDS):
            continue
        said.append(word)
        after = tmp_path / f"after {number}"
        after.mkdir()
        for path, content in disk.durable.items():
            if path.startswith(f"{file}") and not path.endswith("-shm"):
                (after / Path(path).name).write_bytes(content)
        assert str(folder) in disk.folders, "the name of the log is on disk as well"
        await check(after, said)
        shutil.rmtree(after)
    assert tuple(each.split()[0] for each in said) == _WORDS


async def check(folder: Path, said: list[str]) -> None:
    """All of it is true on this disk."""
    channels = await orders_victim.shop_of(f"sqlite:///{folder}/leyden.db", folder)
    try:
        assert [str(each) for each in await verify(channels.database)] == []
        for word, _, rest in (each.partition(" ") for each in said):
            if word == "redeemed":
                balance = await credit.balance(channels.database, TEAM)
                assert balance.credit == WORTH or len(said) > 1
                continue
            order = await orders.get(channels, TEAM, order_id(0))
            if word == "created":
                assert f"{order.credit_used} {order.lightning_invoice}" == rest
            elif word == "ticket":
                assert ticket_source.open_ticket(channels, order) == rest
            else:
                assert (order.status, rest) == (OrderStatus.CANCELLED, str(PRICE))
    finally:
        await channels.database.close()
