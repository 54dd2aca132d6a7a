"""Who runs with other origins than are set now is counted, so that it can be told."""

import ssl
from ipaddress import IPv4Network
from pathlib import Path

from leyden.nodes.lnd import home
from leyden.nodes.lnd.chains import Chain, Neutrino
from leyden.nodes.lnd.home import Tls
from leyden.nodes.lnd.options import Options
from leyden.nodes.rules.nodes import Node, NodeStatus
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.local.layout import Layout
from leyden.nodes.runtimes.local.local import LocalRuntime
from leyden.nodes.runtimes.local.placement import Placement
from leyden.nodes.wiring.fleet import count_outdated
from leyden.values import replace
from tests.nodes.rules.nodes import a_node

OURS = ("https://a.example", "https://b.example:8443")


def started(layout: Layout, name: str, *origins: str, process: str = "7 8 lnd") -> Node:
    node = replace(a_node(NodeStatus.RUNNING), id=name, process=process)
    options = Options(
        version=node.version,
        chain=Chain.SIMNET,
        backend=Neutrino(),
        rest_listen=("127.64.0.7:18080",),
        rpc_listen=("127.64.0.7:18009",),
        domain=node.api_endpoint,
        cors_origins=origins,
    )
    layout.folder(node).mkdir()
    tls = Tls(chain_pem=b"a chain\n", key_pem=b"its key\n")
    home.write(layout.home(node), node.settings, options, tls=tls)
    return node


async def no_binary(_: Version) -> Path:
    raise NotImplementedError


def test_only_what_runs_with_others_is_counted(tmp_path: Path) -> None:
    placement = Placement(
        network=IPv4Network("127.64.0.0/16"), rest_port=1, grpc_port=2, first_uid=None
    )
    layout = Layout(root=tmp_path, placement=placement, grounds={})
    runtime = LocalRuntime(
        layout,
        binary=no_binary,
        trusts=ssl.create_default_context(),
        cors_origins=OURS,
    )
    nodes = [
        started(layout, "as they are", *OURS),
        started(layout, "in another order", *reversed(OURS)),
        started(layout, "stopped", "https://old.example", process=""),
    ]
    assert count_outdated(runtime, nodes) == 0
    nodes += [
        started(layout, "before", "https://old.example"),
        started(layout, "one too few", OURS[0]),
        started(layout, "none at all"),
        replace(nodes[0], id="whose folder cannot be read"),
    ]
    assert count_outdated(runtime, nodes) == 4
