"""A cluster takes addresses that no route of the host touches."""

from ipaddress import IPv4Address, IPv4Network

import pytest

from leyden.errors import SetupError
from leyden_workshop.devcluster.addresses import (
    MAX_MACHINES,
    Block,
    free,
    is_free,
    routed,
)

TABLE = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
tun0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
wg0\t0005C80A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""


def test_routes_are_read_as_the_kernel_lists_them_but_for_the_wide_ones() -> None:
    assert routed(TABLE) == [IPv4Network("10.200.5.0/24")]


def test_a_block_that_a_route_touches_is_not_chosen() -> None:
    assert free([], first=0) == Block(200)
    assert free(routed(TABLE), first=0) == Block(201)
    assert not is_free(Block(200), routed(TABLE))


def test_another_cluster_starts_looking_elsewhere() -> None:
    assert free([], first=7) == Block(207)
    assert free([Block(254).network], first=54) == Block(200)


def test_a_host_without_a_free_block_is_told_which_were_looked_at() -> None:
    with pytest.raises(SetupError, match=r"10\.200\.0\.0/16 to 10\.254\.0\.0/16"):
        free([IPv4Network("10.0.0.0/8")], first=0)


def test_no_address_is_of_two_kinds() -> None:
    block = Block(240)
    machines = [block.machine(number) for number in range(1, MAX_MACHINES + 1)]
    single = [block.control_plane, block.host, *machines]
    assert len({*single}) == len(single)
    pods = [block.pods_of(number) for number in range(1, MAX_MACHINES + 1)]
    networks = [block.machines, block.services, *pods]
    for each in networks:
        assert each.subnet_of(block.network)
        assert not any(each.overlaps(other) for other in networks if other != each)
    assert all(each.subnet_of(block.pods) for each in pods)
    assert all(each in block.machines for each in single)
    assert block.machine(1) == IPv4Address("10.240.0.11")
