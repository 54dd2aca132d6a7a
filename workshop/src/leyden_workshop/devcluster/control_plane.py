"""The programs of a control plane, with their arguments.

With pods they run in namespaces of their own, with a bridge that connects the machines.
Without pods they listen on the loopback address and need no root.
"""

import sys
from collections.abc import Iterator
from typing import Final

from leyden_workshop.devcluster import roots
from leyden_workshop.devcluster.credentials import Credentials, server, services
from leyden_workshop.devcluster.layout import Cluster, ClusterLayout
from leyden_workshop.devcluster.parts import Parts
from leyden_workshop.devcluster.plans import (
    MachinePlan,
    PlannedProgram,
    PlannedStep,
    program,
    setting,
    settings,
    step,
)

BRIDGE: Final = "machines"
_LOOPBACK: Final = "127.0.0.1"
# The recommended maximum for etcd.
_ETCD_BYTES: Final = 8 << 30
# With simulated machines there are thousands of pods. With the controllers' default of
# 20 requests per second it would take half an hour to bind their volumes.
_SIMULATED_QPS: Final = 1000


def plan(
    layout: ClusterLayout,
    cluster: Cluster,
    credentials: Credentials,
    made_of: Parts,
) -> MachinePlan:
    """Return the plan of the control plane's first process."""
    todo: list[PlannedStep | PlannedProgram] = []
    if (block := cluster.addresses) is not None:
        folder = {layout.folder: str(layout.folder)}
        todo += roots.steps(
            layout.control_plane / "root", writable=folder, cache=made_of.cache
        )
        todo += [
            step("ip", "link", "set", "lo", "up"),
            step("ip", "link", "add", BRIDGE, "type", "bridge"),
            step(
                *("ip", "address", "add", "dev", BRIDGE),
                f"{block.control_plane}/{block.machines.prefixlen}",
            ),
            step("ip", "link", "set", BRIDGE, "up"),
            # With netfilter on the bridge, packets between machines would be dropped.
            setting("net/bridge/bridge-nf-call-iptables", 0),
            *settings(),
        ]
    todo += [
        program(
            "etcd", made_of.packages.root / "usr/bin/etcd", *_etcd(layout, cluster)
        ),
        program(
            "kube-apiserver",
            made_of.binaries["kube-apiserver"],
            *_api(cluster, credentials),
        ),
        program(
            "kube-controller-manager",
            made_of.binaries["kube-controller-manager"],
            f"--kubeconfig={credentials.kubeconfig('controller-manager')}",
            f"--service-account-private-key-file={credentials.accounts}",
            f"--root-ca-file={credentials.authority.certificate}",
            "--use-service-account-credentials=true",
            # The default is a folder below /usr/libexec.
            f"--flex-volume-plugin-dir={layout.control_plane / 'volume-plugins'}",
            "--leader-elect=false",
            "--secure-port=0",
            *_pace(cluster),
        ),
        program(
            "kube-scheduler",
            made_of.binaries["kube-scheduler"],
            f"--kubeconfig={credentials.kubeconfig('scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
        ),
    ]
    if cluster.block is not None:
        todo.append(
            program(
                "provisioner",
                *(sys.executable, "-m", "leyden_workshop.devcluster.provisioner"),
                *(server(cluster), credentials.folder, layout.folder),
            )
        )
    return MachinePlan(
        logs=layout.control_plane,
        environment={
            **made_of.packages.environment(),
            "HOME": str(layout.control_plane),
        },
        todo=todo,
    )


def _pace(cluster: Cluster) -> Iterator[str]:
    if cluster.block is None:
        yield f"--kube-api-qps={_SIMULATED_QPS}"
        yield f"--kube-api-burst={2 * _SIMULATED_QPS}"


def _etcd(layout: ClusterLayout, cluster: Cluster) -> Iterator[str]:
    own = Credentials(layout.authority)
    trusted = own.etcd_authority.certificate
    client = f"https://{_LOOPBACK}:{cluster.ports.etcd}"
    peer = f"https://{_LOOPBACK}:{cluster.ports.etcd_peer}"
    yield "--name=leyden"
    yield f"--data-dir={layout.control_plane / 'etcd'}"
    # Written data is in the kernel's cache, so killing a process loses nothing.
    yield "--unsafe-no-fsync"
    yield f"--quota-backend-bytes={_ETCD_BYTES}"
    yield "--log-level=warn"
    yield "--logger=zap"
    yield f"--listen-client-urls={client}"
    yield f"--advertise-client-urls={client}"
    yield f"--listen-peer-urls={peer}"
    yield f"--initial-advertise-peer-urls={peer}"
    yield f"--initial-cluster=leyden={peer}"
    for prefix in ("", "peer-"):
        yield f"--{prefix}client-cert-auth"
        yield f"--{prefix}trusted-ca-file={trusted}"
        yield f"--{prefix}cert-file={own.pair('etcd').certificate}"
        yield f"--{prefix}key-file={own.pair('etcd').key}"


def _api(cluster: Cluster, own: Credentials) -> Iterator[str]:
    block = cluster.addresses
    yield f"--etcd-servers=https://{_LOOPBACK}:{cluster.ports.etcd}"
    yield f"--etcd-cafile={own.etcd_authority.certificate}"
    yield f"--etcd-certfile={own.pair('etcd-client').certificate}"
    yield f"--etcd-keyfile={own.pair('etcd-client').key}"
    yield f"--secure-port={cluster.ports.api}"
    yield f"--tls-cert-file={own.pair('api').certificate}"
    yield f"--tls-private-key-file={own.pair('api').key}"
    yield f"--client-ca-file={own.authority.certificate}"
    yield f"--service-account-key-file={own.accounts}"
    yield f"--service-account-signing-key-file={own.accounts}"
    yield "--service-account-issuer=https://kubernetes.default.svc"
    yield f"--service-cluster-ip-range={services(cluster)}"
    yield "--authorization-mode=Node,RBAC"
    yield "--enable-admission-plugins=NodeRestriction"
    yield "--allow-privileged=true"
    yield f"--kubelet-client-certificate={own.pair('kubelet-client').certificate}"
    yield f"--kubelet-client-key={own.pair('kubelet-client').key}"
    yield f"--kubelet-certificate-authority={own.authority.certificate}"
    yield "--kubelet-preferred-address-types=InternalIP"
    if block is None:
        yield f"--bind-address={_LOOPBACK}"
        yield f"--advertise-address={_LOOPBACK}"
        # So that the service does not get a loopback address as its endpoint.
        yield "--endpoint-reconciler-type=none"
    else:
        yield f"--bind-address={block.control_plane}"
        yield f"--advertise-address={block.control_plane}"
