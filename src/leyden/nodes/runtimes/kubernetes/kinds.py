"""Types of Kubernetes objects, with the fields that are read here.

An API server sends many more fields; msgspec skips them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from leyden.values import Struct, field

NODE_LABEL: Final = "leyden/node"
COPIER_LABEL: Final = "leyden/copier"  # a pod that copies a node's volume
HELD: Final = "leyden/held"  # a finalizer: see pods.py


class Metadata(Struct, frozen=True, kw_only=True, rename="camel"):
    """The metadata that all objects have."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str = ""
    deletion_grace_period_seconds: int | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether the object is being deleted."""
        return bool(self.deletion_timestamp)


class Condition(Struct, frozen=True, kw_only=True):
    """A condition of a pod or a machine."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Running(Struct, frozen=True, kw_only=True):
    """A container that runs."""


class ContainerWaiting(Struct, frozen=True, kw_only=True):
    """A container that does not run yet."""

    reason: str = ""
    message: str = ""


class Terminated(Struct, frozen=True, kw_only=True, rename="camel"):
    """A container that has ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""
    finished_at: str = ""


class ContainerState(Struct, frozen=True, kw_only=True):
    """The state of a container; one of the three."""

    running: Running | None = None
    waiting: ContainerWaiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, frozen=True, kw_only=True):
    """The kubelet's report on a container."""

    name: str
    state: ContainerState = field(default_factory=ContainerState)


class PodSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a pod runs."""

    node_name: str = ""


class PodStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """The status of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()  # the companion's


class Pod(Struct, frozen=True, kw_only=True):
    """A pod."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)

    @property
    def uid(self) -> str:
        """The pod's uid; another pod of the same name has another one."""
        return self.metadata.uid


class MachineStatus(Struct, frozen=True, kw_only=True):
    """The status of a machine."""

    conditions: tuple[Condition, ...] = ()


class Machine(Struct, frozen=True, kw_only=True):
    """A machine of the cluster, which Kubernetes calls a node."""

    metadata: Metadata = field(default_factory=Metadata)
    status: MachineStatus = field(default_factory=MachineStatus)


class ServiceSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """The address, selector and reachability of a service."""

    cluster_ip: str = field(default="", name="clusterIP")
    type: str = "ClusterIP"
    external_traffic_policy: str = ""
    selector: dict[str, str] = field(default_factory=dict)


class Service(Struct, frozen=True, kw_only=True):
    """A service: a stable address."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: ServiceSpec = field(default_factory=ServiceSpec)


class ClaimSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """The volume of a claim."""

    volume_name: str = ""


class VolumeClaim(Struct, frozen=True, kw_only=True):
    """A claim on a volume."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: ClaimSpec = field(default_factory=ClaimSpec)


class StorageClass(Struct, frozen=True, kw_only=True, rename="camel"):
    """How volumes are provisioned, and whether they are retained."""

    reclaim_policy: str = "Delete"


class ConfigMap(Struct, frozen=True, kw_only=True):
    """A few values by name."""

    metadata: Metadata = field(default_factory=Metadata)
    data: Mapping[str, str] = field(default_factory=dict)


class Named(Struct, frozen=True, kw_only=True):
    """The name in an object's metadata."""

    name: str = ""


class Quantities(Struct, frozen=True, kw_only=True):
    """The resource usage of a container, as Kubernetes quantities."""

    cpu: str = ""
    memory: str = ""


class ContainerMetrics(Struct, frozen=True, kw_only=True):
    """The resource usage of a container of a pod."""

    name: str = ""
    usage: Quantities = field(default_factory=Quantities)


class PodMetrics(Struct, frozen=True, kw_only=True):
    """The resource usage of a pod's containers."""

    metadata: Named = field(default_factory=Named)
    containers: Sequence[ContainerMetrics] = ()


class PodMetricsList(Struct, frozen=True, kw_only=True):
    """The resource usage of all pods in one list: metrics-server has no pagination."""

    items: Sequence[msgspec.Raw] | None = None


class Thing(Struct, frozen=True, kw_only=True):
    """Any object, of which only the metadata is read."""

    metadata: Metadata = field(default_factory=Metadata)


class ApiRefusal(Struct, frozen=True, kw_only=True):
    """The API server's status object for a rejected request."""

    code: int = 0
    reason: str = ""
    message: str = ""


class ClusterRelease(Struct, frozen=True, kw_only=True):
    """The version of a cluster."""

    major: str
    minor: str


class ReviewStatus(Struct, frozen=True, kw_only=True):
    """Whether something is allowed."""

    allowed: bool = False


class TokenReview(Struct, frozen=True, kw_only=True):
    """The response to an access review: whether we may do something."""

    status: ReviewStatus = field(default_factory=ReviewStatus)
