"""A home as the release with schema 0007 left it, and its running nodes.

`home_0007.json` was written by that release itself, on SQLite: nodes made over its API,
with a stand-in for lnd, orders made and paid with a fake treasury. It holds every row,
the files of the home, and what the API showed.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import aiohttp
import alembic.command
from sqlalchemy import Connection, MetaData, func, select

from leyden.base import processes
from leyden.base.database import schema
from leyden.base.processes import ProcessIdentity
from leyden.base.rules.times import utc_now
from leyden.lnd.trust import trusting
from leyden.nodes.certificates.authority import Authority

_KEPT = Path(__file__).with_name("home_0007.json")


@dataclass
class OldHome:
    """A home and its database, before `leyden migrate`."""

    folder: Path
    database_url: str
    rest_port: int  # of each node, at its own address
    kept: dict[str, Any] = field(default_factory=lambda: json.loads(_KEPT.read_text()))

    @property
    def shown(self) -> dict[str, Any]:
        """What that release showed."""
        shown: dict[str, Any] = self.kept["shown"]
        return shown

    @cached_property
    def nodes(self) -> dict[str, dict[str, Any]]:
        """The rows of nodes, by their names."""
        return {row["name"]: row for row in self.kept["rows"]["node"]}

    def write_files(self) -> None:
        """Write what was in the home."""
        for name, text in self.kept["files"].items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace(":18080\n", f":{self.rest_port}\n"))
            file.chmod(0o600)
        for name, row in self.nodes.items():
            if row["status"] != "waiting_init":
                wallet = self.lnd_home(name) / "data/chain/bitcoin/simnet/wallet.db"
                wallet.parent.mkdir(parents=True)
                wallet.write_text("a wallet")

    def write_rows(self) -> None:
        """Write what was in the database, under the schema of then."""
        with schema._config() as config, schema.connected(self.database_url) as made:
            config.attributes["connection"] = made
            alembic.command.upgrade(config, self.kept["schema"])
            _insert(made, self.kept["rows"])

    def lnd_home(self, name: str) -> Path:
        """Return the folder that is lnd's."""
        node_id: str = self.nodes[name]["id"]
        return self.folder / "nodes" / node_id / "lnd"

    @asynccontextmanager
    async def running(self, name: str, lnd: Path) -> AsyncIterator[ProcessIdentity]:
        """Have a node run as that release started it, and its row say so."""
        row, home = self.nodes[name], self.lnd_home(name)
        authority = Authority(self.folder / "authority")
        tls = authority.issue(row["api_endpoint"], now=utc_now())
        (home / "tls.cert").write_bytes(tls.chain_pem)
        (home / "tls.key").write_bytes(tls.key_pem)
        claim = os.open(home.parent / "claim", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(claim, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [str(lnd), f"--lnddir={home}"],
            pass_fds=(claim,),
            env={"LEYDEN_REVISION": str(row["launched"])},
            start_new_session=True,
        )
        os.write(claim, f"{process.pid}\n".encode())
        os.close(claim)
        running = processes.holder(home.parent / "claim")
        assert running is not None
        row["process"] = running.written
        try:
            await self.call(name, "/v1/state")
            if row["status"] == "running":
                await self.call(name, "/v1/unlockwallet", {"stateless_init": True})
            yield running
        finally:
            process.kill()
            process.wait()

    async def call(self, name: str, path: str, body: object = None) -> Any:
        """Call a node's lnd as its owner, once it answers."""
        row = self.nodes[name]
        port = self.rest_port
        return await call(
            f"https://{row['host']}:{port}{path}",
            body,
            name=row["api_endpoint"],
            root_pem=self.kept["files"]["authority/root.pem"],
        )


async def call(url: str, body: object, *, name: str, root_pem: str) -> Any:
    """Call whoever shows a certificate of this name, once it answers."""
    async with asyncio.timeout(30), aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.request(
                    "GET" if body is None else "POST",
                    url,
                    json=body,
                    ssl=trusting(root_pem),
                    server_hostname=name,
                ) as answer:
                    assert answer.status == 200, await answer.text()
                    return await answer.json()
            await asyncio.sleep(0.02)


def _insert(connection: Connection, rows: dict[str, list[dict[str, Any]]]) -> None:
    tables = MetaData()
    tables.reflect(connection)
    for table in tables.sorted_tables:
        for row in rows.get(table.name, []):
            plain = {
                name: bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
                for name, value in row.items()
            }
            connection.execute(table.insert(), plain)
        for column in table.primary_key:
            if "nextval" in str(getattr(column.server_default, "arg", "")):
                sequence = func.pg_get_serial_sequence(table.name, column.name)
                last = select(func.max(column)).scalar_subquery()
                connection.execute(select(func.setval(sequence, last)))
