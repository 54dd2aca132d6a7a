"""The template of all nodes in a cluster: images, sizes, ports, chains."""

from collections.abc import Mapping
from types import MappingProxyType

from leyden.errors import CannotStart
from leyden.nodes.lnd import home
from leyden.nodes.lnd.options import Logs, Options
from leyden.nodes.rules.nodes import Network, Node, NodeType
from leyden.nodes.rules.versions import Version
from leyden.nodes.runtimes.base import LaunchSpec
from leyden.nodes.runtimes.kubernetes import manifests, pods
from leyden.nodes.runtimes.kubernetes.companions import Companion
from leyden.nodes.runtimes.kubernetes.manifests import CONFIG_FOLDER, Manifest
from leyden.nodes.runtimes.local.layout import Ground
from leyden.nodes.runtimes.local.placement import SHARES, Share
from leyden.values import Struct, field


class Size(Struct, frozen=True, kw_only=True):
    """The resources of a node of a type."""

    share: Share
    disk_gib: int = 10


SIZES: Mapping[NodeType, Size] = {
    type_: Size(share=share) for type_, share in SHARES.items()
}


class Template(Struct, frozen=True, kw_only=True):
    """Creates the manifests of any node from the installation's settings."""

    grounds: Mapping[Network, Ground]
    images: Mapping[Version, str]
    storage_class: str
    sizes: Mapping[NodeType, Size] = field(default_factory=lambda: SIZES)
    priority_class: str = ""
    scheduling: Manifest = field(default_factory=dict)  # fields of a pod's spec
    companion: Companion | None = None
    rest_port: int = 18_080
    grpc_port: int = 18_009
    peer_port: int = 18_735
    grace_s: int = 600
    cors_origins: tuple[str, ...] = ()
    logs: Logs = field(default_factory=Logs)

    @property
    def origins(self) -> str:
        """The CORS origins in the form of a pod's annotation."""
        return " ".join(sorted(self.cors_origins))

    def service(self, node: Node) -> Manifest:
        """Return a node's service."""
        ports = {
            "rest": self.rest_port,
            "grpc": self.grpc_port,
            "peer": self.peer_port,
        }
        return manifests.service(node, ports=ports)

    def claim(self, node: Node) -> Manifest:
        """Return a node's claim."""
        return manifests.claim(
            node,
            storage_class=self.storage_class,
            size_gib=self.sizes[node.type].disk_gib,
        )

    def secret(
        self,
        node: Node,
        launch_spec: LaunchSpec,
        more: Mapping[str, bytes] = MappingProxyType({}),
    ) -> Manifest:
        """Return a node's secret; raise for settings that lnd would misread."""
        ground, peers = self.grounds[node.network], launch_spec.peer_address
        options = Options(
            version=node.version,
            chain=ground.chain,
            backend=ground.backend,
            rest_listen=(f"0.0.0.0:{self.rest_port}",),
            rpc_listen=(f"0.0.0.0:{self.grpc_port}",),
            domain=node.api_endpoint,
            peer_listen=(f"0.0.0.0:{self.peer_port}",) if peers else (),
            announced=launch_spec.announced,
            cors_origins=self.cors_origins,
            logs=self.logs,
            on_console=True,
            tls_files=(
                CONFIG_FOLDER / home.CERTIFICATE,
                CONFIG_FOLDER / home.PRIVATE_KEY,
            ),
        )
        files = home.render(launch_spec.settings, options, CONFIG_FOLDER)
        return manifests.secret(node, {**files, **more}, launch_spec.tls)

    def pod(self, node: Node, *, shown: bytes) -> Manifest:
        """Return a node's pod; `shown` is a certificate not issued by our authority."""
        pod = manifests.pod(
            node,
            image=self._image(node),
            share=self.sizes[node.type].share,
            grace_s=self.grace_s,
            rest_port=self.rest_port,
            grpc_port=self.grpc_port,
            annotations={
                pods.REVISION: str(node.revision),
                pods.ORIGINS: self.origins,
                **({pods.CERTIFICATE: shown.decode()} if shown else {}),
            },
            priority_class=self.priority_class,
            companion=self.companion,
            chain=self.grounds[node.network].chain,
        )
        return manifests.scheduled(pod, self.scheduling)

    def copier(self, node: Node) -> Manifest:
        """Return the copier pod of a node's volume."""
        if self.companion is None:
            raise CannotStart(
                f"node {node.id}: companion_image is not set, and copying needs it",
                reason="The node can't be moved now.",
            )
        pod = manifests.copier(
            node, image=self.companion.image, rest_port=self.rest_port
        )
        return manifests.scheduled(pod, self.scheduling)

    def _image(self, node: Node) -> str:
        if (image := self.images.get(node.version)) is None:
            raise CannotStart(
                f"node {node.id}: kubernetes_images names no image of lnd "
                f"{node.version}",
                reason=(
                    f"lnd {node.version} has no image. The operator must configure one."
                ),
            )
        return image
