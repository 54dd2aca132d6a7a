"""The programs of a cluster, and the modules that they are built from.

They are built like lnd, into the same cache. They are not in the catalogue, so that
`leyden daemons build` does not build them for operators who run nodes as processes.
"""

from pathlib import Path
from typing import Final

from leyden.base.daemons.catalogue import Program, ToolSet

_HERE = Path(__file__).parent
_CMD = "k8s.io/kubernetes/cmd"
_HELM = "helm.sh/helm/v3"
_KWOK = "sigs.k8s.io/kwok"
VERSION: Final = "1.34.3"

# In the order in which they are needed: API server and controllers, then the rest.
KUBERNETES = ToolSet(
    name=f"kubernetes-{VERSION}",
    folder=_HERE / f"kubernetes-{VERSION}",
    programs=tuple(
        Program(name, VERSION, f"{_CMD}/{name}")
        for name in (
            *("kube-apiserver", "kube-controller-manager", "kube-scheduler"),
            *("kubelet", "kube-proxy", "kubectl"),
        )
    ),
    stamps={
        "k8s.io/component-base/version.gitVersion": f"v{VERSION}",
        "k8s.io/client-go/pkg/version.gitVersion": f"v{VERSION}",
    },
    seconds=600,
)
PAUSE = ToolSet(
    name="pause",
    folder=_HERE / "pause",
    programs=(Program("pause", "1", "leyden.invalid/devcluster/pause"),),
    seconds=2,
)
COMPANION = ToolSet(
    name="companion",
    folder=_HERE / "companion",
    programs=(Program("companion", "1", "leyden/companion"),),
    seconds=10,
)
HELM = ToolSet(
    name="helm-3.18.4",
    folder=_HERE / "helm-3.18.4",
    programs=(Program("helm", "3.18.4", f"{_HELM}/cmd/helm"),),
    stamps={
        f"{_HELM}/internal/version.version": "v3.18.4",
        # The Kubernetes whose libraries it has (client-go 0.33). Without these, a
        # chart that needs more than 1.20 is refused where no cluster is asked.
        f"{_HELM}/pkg/chartutil.k8sVersionMajor": "1",
        f"{_HELM}/pkg/chartutil.k8sVersionMinor": "33",
        f"{_HELM}/pkg/lint/rules.k8sVersionMajor": "1",
        f"{_HELM}/pkg/lint/rules.k8sVersionMinor": "33",
    },
    seconds=90,
)
KWOK = ToolSet(
    name="kwok-0.7.0",
    folder=_HERE / "kwok-0.7.0",
    programs=(Program("kwok", "0.7.0", f"{_KWOK}/cmd/kwok"),),
    stamps={f"{_KWOK}/pkg/consts.Version": "v0.7.0"},
    seconds=60,
)
SETS: Final = (KUBERNETES, PAUSE, COMPANION, HELM, KWOK)

API_ONLY: Final = (
    *("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"),
)
WITH_PODS: Final = (*API_ONLY, "kubelet", "kube-proxy", "pause", "companion")
ASKED_FOR: Final = ("kubectl", "helm", "kwok")
