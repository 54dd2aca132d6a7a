"""Names are looked up beside each other, by a real name server that fails at times."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from leyden.webhooks.names import Names

from .name_server import HOST, NameServer

ADDRESS = "127.0.0.1"


@pytest.fixture
def server() -> Iterator[NameServer]:
    with NameServer(ADDRESS) as server:
        yield server


@pytest.fixture
def asking(server: NameServer) -> Iterator[Names]:
    names = Names(servers=[HOST], port=server.port)
    yield names
    names.close()


async def failed(names: Names, host: str, organization_id: str) -> None:
    with pytest.raises(socket.gaierror):
        await names.look_up(host, 443, organization_id)


async def until_asked(server: NameServer, names: int) -> None:
    async with asyncio.timeout(10):
        while len(server.asked) < names:
            await asyncio.sleep(0.005)


async def test_a_hundred_dead_names_delay_nobody_elses(
    asking: Names, server: NameServer
) -> None:
    await asking.look_up("pier.harbour.test", 443, "harbour")
    async with asyncio.TaskGroup() as group:
        dead = [
            group.create_task(failed(asking, f"dead{number}.reef.test", "reef"))
            for number in range(100)
        ]
        await until_asked(server, 60)
        for number in range(5):
            found = await asking.look_up(f"pier{number}.harbour.test", 443, "harbour")
            assert found == [ADDRESS]
        assert not any(each.done() for each in dead)
        for each in dead:
            each.cancel()


async def test_an_organization_has_so_many_look_ups_at_once_and_others_theirs(
    server: NameServer,
) -> None:
    names = Names(servers=[HOST], port=server.port, at_once=3, longest_s=1.0)
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(5):
                group.create_task(failed(names, f"dead{number}.reef.test", "reef"))
            await until_asked(server, 3)
            await names.look_up("pier.harbour.test", 443, "harbour")
            asked = {name for name in server.asked if name.startswith("dead")}
            assert len(asked) == 3
        # The others' turn came when these had failed.
        assert len(server.asked) == 6
        # An organization's own names are looked up again once its dead ones are done.
        assert await names.look_up("mole.reef.test", 443, "reef") == [ADDRESS]
    finally:
        names.close()


async def test_a_name_without_an_answer_fails_in_time(server: NameServer) -> None:
    names = Names(servers=[HOST], port=server.port, longest_s=0.2)
    try:
        async with asyncio.timeout(4):
            await failed(names, "dead.reef.test", "reef")
        await failed(names, "no.reef.test", "reef")
    finally:
        names.close()


async def test_a_resolver_that_has_to_look_itself_is_waited_for(
    asking: Names, server: NameServer
) -> None:
    for number in range(30):  # it answers at once, so little patience would do
        await asking.look_up(f"pier{number}.harbour.test", 443, "harbour")
    found = await asking.look_up("slow.harbour.test", 443, "harbour")
    assert found == [ADDRESS]
    assert server.asked["slow.harbour.test"] > 1


async def test_the_hosts_file_is_read_before_any_server_is_asked(
    asking: Names, server: NameServer
) -> None:
    hosts = [
        (words[0], words[1])
        for line in Path("/etc/hosts").read_text().splitlines()
        if len(words := line.partition("#")[0].split()) > 1 and "." in words[0]
    ]
    address, name = hosts[0]
    assert address in await asking.look_up(name, 443, "harbour")
    assert not server.asked
