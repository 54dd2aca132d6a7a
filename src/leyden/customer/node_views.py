"""Viewing a node: log, connection details, metrics and certificate."""

import shlex
import time
from pathlib import Path

import click

from leyden.base.cli.output import (
    as_json,
    plain,
    print_fields,
    print_json,
    print_one,
    print_rows,
)
from leyden.customer.completion import node_argument
from leyden.customer.session import ApiSession, with_session
from leyden.schemas.node_access import ConnectAnswer


@click.command()
@node_argument
@click.option(
    "-n",
    "lines",
    type=click.IntRange(1, 1_000),
    default=100,
    show_default=True,
    help="Lines to print.",
)
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines.")
@as_json
@with_session
def logs(
    session: ApiSession, node: str, *, lines: int, follow: bool, as_json: bool
) -> None:
    """Print the last lines of lnd's log.

    \b
    leyden nodes logs pier -f
    """
    node_id = session.node(node).node_id
    found = session.client.nodes.log(node_id, lines)
    if as_json:
        print_json({"node_id": node_id, "lines": found})
        return
    for line in found:
        print(plain(line))
    while follow:
        time.sleep(1)
        now = session.client.nodes.log(node_id, 1_000)
        for line in added(found, now):
            print(plain(line), flush=True)
        found = now


def added(before: list[str], now: list[str]) -> list[str]:
    """Return the lines that follow those that were seen before."""
    for end in range(len(now), 0, -1):
        if now[end - 1] == before[-1:][0] if before else False:
            overlap = now[:end][-len(before) :]
            if overlap == before[-len(overlap) :]:
                return now[end:]
    return now


@click.command()
@node_argument
@as_json
@with_session
def connect(session: ApiSession, node: str, *, as_json: bool) -> None:
    """Print a node's connection details, with ready-to-use commands.

    \b
    leyden nodes connect pier
    """
    way = session.client.nodes.connect(session.node(node).node_id)
    if as_json:
        print_json(way)
        return
    print_fields(
        {
            "REST": way.rest_url,
            "gRPC": way.grpc_address,
            "peers": _called(way, way.peer_address),
            "peers by Tor": _called(way, way.onion_address),
            "lndconnect": way.lndconnect,
            "/etc/hosts": way.hosts_line,
        }
    )
    name = shlex.quote(node)
    host, port = way.hosts_line.split()[0], way.rest_url.rpartition(":")[2]
    print(f"""
First save the certificate and a macaroon:
  leyden nodes cert {name} --out node.pem
  leyden wallet bake {name} mine --preset read-only --out mine.macaroon
then:
  lncli --rpcserver={way.grpc_address} \\
    --tlscertpath=node.pem --macaroonpath=mine.macaroon getinfo
  curl --cacert node.pem \\
    --resolve {way.api_endpoint}:{port}:{host} \\
    -H "Grpc-Metadata-macaroon: $(xxd -p -c 9999 mine.macaroon)" \\
    {way.rest_url}/v1/getinfo""")


def _called(way: ConnectAnswer, address: str) -> str:
    """Return what other nodes are told; "" where there is no such address."""
    return address and f"{way.public_key or 'PUBLIC-KEY'}@{address}"


@click.command()
@node_argument
@as_json
@with_session
def metrics(session: ApiSession, node: str, *, as_json: bool) -> None:
    """Print a node's resource usage and traffic.

    \b
    leyden nodes metrics pier
    """
    found = session.client.nodes.metrics(session.node(node).node_id)
    print_one(found, as_json=as_json)


@click.command()
@node_argument
@click.option(
    "--renew", is_flag=True, help="Renew the certificate; this restarts the node."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it to this file.",
)
@as_json
@with_session
def cert(
    session: ApiSession, node: str, *, renew: bool, out: Path | None, as_json: bool
) -> None:
    """Print the certificate chain that clients must trust, as PEM.

    \b
    leyden nodes cert pier --out pier.pem
    """
    node_id = session.node(node).node_id
    pem = (
        session.client.nodes.renew_certificate(node_id)
        if renew
        else session.client.nodes.certificate(node_id)
    )
    if out is not None:
        out.write_text(pem)
    if as_json:
        print_json({"node_id": node_id, "pem": pem})
    elif out is None:
        print(pem, end="")


@click.command()
@as_json
@with_session
def versions(session: ApiSession, *, as_json: bool) -> None:
    """List the available lnd versions, and the features each one drops.

    \b
    leyden nodes versions
    """
    found = session.client.nodes.versions()
    if as_json:
        print_json(found)
        return
    print_rows(
        (
            {
                "lnd": each.lnd_version + (" (default)" if each.default else ""),
                "description": each.says,
                "removed features": each.drops,
            }
            for each in found.versions
        ),
        empty="none",
    )
