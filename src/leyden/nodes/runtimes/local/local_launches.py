"""Launching an lnd on this machine: its folder, its program, its process."""

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from leyden.base import processes
from leyden.base.processes import ProcessIdentity
from leyden.errors import CannotStart, SetupError
from leyden.nodes.lnd import home
from leyden.nodes.lnd.options import Logs, Options
from leyden.nodes.rules.nodes import Node
from leyden.nodes.rules.starts import Start, refuse_old_copy
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.local import counter
from leyden.nodes.runtimes.local.layout import MAX_OUTPUT, Layout
from leyden.nodes.runtimes.local.priorities import STARTING

_REVISION: Final = (
    "LEYDEN_REVISION"  # in lnd's environment: the revision of its settings
)


class LocalLaunches:
    """The launches of lnds on this machine, each with the options of all nodes."""

    def __init__(
        self,
        layout: Layout,
        *,
        binary: Callable[[Version], Awaitable[Path]],
        cors_origins: tuple[str, ...] = (),
        tor_socks: str = "",
        logs: Logs | None = None,
    ) -> None:
        self._layout = layout
        self._placement = layout.placement
        self._binary = binary
        self._cors_origins = cors_origins
        self._tor_socks = tor_socks
        self._logs = logs or Logs()

    async def program(self, node: Node) -> Path:
        """Return the node's lnd program; raise CannotStart if it is not installed."""
        try:
            return await self._binary(node.version)
        except (OSError, SetupError) as error:
            raise CannotStart(
                f"node {node.id}: there is no lnd {node.version}: {error}",
                reason=f"lnd {node.version} is not on the node's machine. The operator "
                "must install it.",
            ) from error

    def refuse_without_wallet(self, node: Node) -> None:
        """Raise CannotStart if the node has a wallet that is missing here."""
        chain = self._layout.grounds[node.network].chain
        wallet = home.wallet(self._layout.home(node), chain)
        if node.has_wallet and not wallet.exists():
            gone = "wallet" if self._layout.folder(node).is_dir() else "folder"
            raise CannotStart(
                f"node {node.id} has a wallet, and {wallet} is missing; bring its "
                "folder back, or see `leyden data-dir adopt --start-empty`",
                reason=f"The node's {gone} is not on its machine. The operator must "
                "restore it.",
            )

    def refuse_old_copy(self, node: Node, known: Start) -> None:
        """Raise CannotStart if the wallet is from before the last start."""
        chain = self._layout.grounds[node.network].chain
        if home.wallet(self._layout.home(node), chain).exists():
            found = counter.read(self._layout.starts(node))
            refuse_old_copy(node.id, known, found)

    def make_home(self, node: Node, launch_spec: LaunchSpec, host: str) -> None:
        """Write the folder, and count the start.

        If the node has a wallet, its folder exists. If not, it was renamed meanwhile,
        as the node is being moved elsewhere: OSError is raised.
        """
        folder = self._layout.folder(node)
        if not node.has_wallet:
            folder.mkdir(exist_ok=True)
        folder.chmod(0o711)  # despite the umask: lnd's user may pass through, no more
        ground = self._layout.grounds[node.network]
        options = Options(
            version=node.version,
            chain=ground.chain,
            backend=ground.backend,
            rest_listen=(f"{host}:{self._placement.rest_port}",),
            rpc_listen=(f"{host}:{self._placement.grpc_port}",),
            domain=node.api_endpoint,
            peer_listen=(
                (f"{host}:{self._placement.peer_port}",)
                if launch_spec.peer_address
                else ()
            ),
            announced=launch_spec.announced,
            cors_origins=self._cors_origins,
            tor_socks=self._tor_socks,
            logs=self._logs,
        )
        home.write(
            self._layout.home(node),
            launch_spec.settings,
            options,
            tls=launch_spec.tls,
            owner=self._placement.owner(node),
        )
        counter.count(self._layout.starts(node), launch_spec.last_start)

    async def spawn(self, node: Node, lnd: Path) -> ProcessIdentity:
        """Start lnd, which holds the node's claim from the fork on."""
        lnd_home, output = self._layout.home(node), self._layout.output(node)
        with contextlib.suppress(FileNotFoundError):
            if output.stat().st_size > MAX_OUTPUT:
                output.unlink()  # the output of thousands of crashes is useless
        share, owner = self._placement.shares[node.type], self._placement.owner(node)
        return await processes.spawn(
            [str(lnd), f"--lnddir={lnd_home}"],
            log=output,
            claim=self._layout.claim(node),
            cwd=lnd_home,
            env={
                "HOME": str(lnd_home),
                _REVISION: str(node.revision),
                **share.environment,
            },
            limits=share.limits,
            niceness=STARTING,
            uid=None if owner is None else owner.uid,
            gid=None if owner is None else owner.gid,
        )


def revision(running: ProcessIdentity) -> int:
    """Return the revision that an lnd was started with; 0 if it has ended."""
    try:
        environment = Path(f"/proc/{running.pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return 0
    for each in environment:
        name, _, value = each.partition(b"=")
        if name == _REVISION.encode() and value.isdigit():
            return int(value)
    return 0
