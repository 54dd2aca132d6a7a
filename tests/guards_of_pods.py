"""The guards of nodes in a cluster; see mutations.py."""

from tests.guards import Guard

_PODS = "runtimes/kubernetes/pods.py"
_MANIFESTS = "runtimes/kubernetes/manifests.py"
_OBJECTS = "runtimes/kubernetes/objects.py"
_RUNTIME = "runtimes/kubernetes/runtime.py"
_LAUNCHES = "runtimes/kubernetes/launches.py"
_STAND_IN = "tests/runtimes/test_kubernetes.py"
_FAULTS = "tests/devcluster/test_node_faults.py"

_TOKENS = "runtimes/kubernetes/tokens.py"
_REPORTS = "tests/api/test_companions.py"
_HOME_REPORTS = "services/nodes/home_reports.py"

GUARDS = (
    Guard(
        "a backup of channels that a companion reported is not missed",
        "runtimes/kubernetes/homes.py",
        "return await self._reports.channel_backup(node.id)",
        "return None",
        _REPORTS,
        "missed_only",
    ),
    Guard(
        "lnds that do not answer take nobody's turn to be heard",
        "lnd/states.py",
        "            async with asyncio.timeout(_ANSWERS_WITHIN_S):\n"
        "                await _connected(knocking)\n"
        "            async with self._turns, asyncio.timeout(_HANDSHAKE_S):\n",
        "            async with self._turns, asyncio.timeout(_HANDSHAKE_S):\n"
        "                await _connected(knocking)\n",
        "tests/lnd/test_states.py",
        "silent",
    ),
    Guard(
        "a public key that a companion reported is kept",
        _HOME_REPORTS,
        "            await tx.node_keys.keep(node.id, report.public_key)\n",
        "            pass\n",
        _REPORTS,
        "public_key",
    ),
    Guard(
        "a companion that has not read the key yet does not erase it",
        _HOME_REPORTS,
        "        if report.public_key:\n",
        "        if True:\n",
        _REPORTS,
        "public_key",
    ),
    Guard(
        "a companion cannot report what is no public key",
        _HOME_REPORTS,
        "(0[23][0-9a-f]{64})?",
        ".*",
        _REPORTS,
        "public_key",
    ),
    Guard(
        "on a machine that does not answer nothing is known of an lnd",
        _PODS,
        'if readiness(machine) == "Unknown":',
        "if False:",
        "tests/runtimes/test_pods.py",
    ),
    Guard(
        "an lnd whose machine is back is told of",
        _RUNTIME,
        "            self._tell(node_id, watched.seen)\n",
        "            pass\n",
        _STAND_IN,
        "machine_is_back",
    ),
    Guard(
        "what was refused while a machine was lost is tried at its return",
        "services/nodes/watchers.py",
        "                    await self._bring_forward(held, known)\n",
        "                    pass\n",
        "tests/services/test_watching.py",
        "not postgres and return",
    ),
    Guard(
        "what is heard again of a node puts no task that has nothing to do",
        "services/nodes/watchers.py",
        "        if plan(node, now) not in {Step.NOTHING, Step.WAIT}:\n",
        "        if True:\n",
        "tests/services/test_watching.py",
        "not postgres and twice",
    ),
    Guard(
        "on a machine that was deleted nothing is known of an lnd",
        _PODS,
        'return f"machine {name} is not in the cluster any more"',
        'return ""',
        "tests/runtimes/test_pods.py",
    ),
    Guard(
        "an lnd that runs has not ended, whatever its pod's phase",
        _PODS,
        "    if status is not None and status.state.running is not None:\n"
        "        return False\n",
        "",
        "tests/runtimes/test_pods.py",
    ),
    Guard(
        "who cannot see a pod does not say that it has ended",
        _PODS,
        "pod.status.phase in _ENDED and not _is_removed(pod)",
        "pod.status.phase in _ENDED",
        "tests/runtimes/test_pods.py",
    ),
    Guard(
        "a pod is held until its end is seen",
        _MANIFESTS,
        '    made["metadata"]["finalizers"] = [HELD]\n',
        "",
        "tests/runtimes/test_manifests.py",
    ),
    Guard(
        "an lnd is started again by nobody but us",
        _MANIFESTS,
        '"restartPolicy": "Never"',
        '"restartPolicy": "Always"',
        "tests/runtimes/test_manifests.py",
    ),
    Guard(
        "a lost machine is tolerated without an end",
        _MANIFESTS,
        '"effect": "NoExecute"}',
        '"effect": "NoExecute", "tolerationSeconds": 300}',
        "tests/runtimes/test_manifests.py",
    ),
    Guard(
        "a volume is one pod's",
        _MANIFESTS,
        '"accessModes": ["ReadWriteOncePod"]',
        '"accessModes": ["ReadWriteOnce"]',
        "tests/runtimes/test_manifests.py",
    ),
    Guard(
        "a pod has no token",
        _MANIFESTS,
        '"automountServiceAccountToken": False',
        '"automountServiceAccountToken": True',
        "tests/runtimes/test_manifests.py",
    ),
    Guard(
        "what is asked of a cluster is what the manifest of roles grants",
        "runtimes/kubernetes/permissions.py",
        'Permission(kind="secrets", verbs=("create", "update", "delete"))',
        'Permission(kind="secrets", verbs=("get", "create", "update", "delete"))',
        "tests/runtimes/test_permissions.py",
    ),
    Guard(
        "an image is named by what it holds",
        "app/clusters.py",
        "if not _BY_DIGEST.fullmatch(image):",
        "if not image:",
        "tests/app/test_clusters.py",
    ),
    Guard(
        "nodes on mainnet are not in a cluster yet",
        "app/clusters.py",
        "    if given.mainnet_backend:\n",
        "    if False:\n",
        "tests/app/test_clusters.py",
    ),
    Guard(
        "a cluster whose certificate nobody vouches for is refused",
        "runtimes/kubernetes/access.py",
        '    if cluster.get("insecure-skip-tls-verify"):\n',
        "    if False:\n",
        "tests/runtimes/test_access.py",
    ),
    Guard(
        "what is gone is told by the next list",
        "runtimes/kubernetes/informer.py",
        "            if after is None or after.metadata.uid != before.metadata.uid:\n",
        "            if False:\n",
        "tests/devcluster/test_informer.py",
        only="nobody_watched",
    ),
    Guard(
        "a node with a wallet is not started without its volume",
        _OBJECTS,
        "if claim is None and node.has_wallet:",
        "if False:",
        _FAULTS,
        only="missed_not_replaced",
    ),
    Guard(
        "a pod that is somebody else's is not taken for a node's",
        _OBJECTS,
        '_refuse_others(node, "pod", found.metadata.labels.get(NODE_LABEL))',
        "pass",
        _FAULTS,
        only="deleted_or_edited_by_hand",
    ),
    Guard(
        "an lnd that cannot be seen is not started a second time",
        _LAUNCHES,
        '            raise NodeAway(f"node {node.id}: {why}")\n'
        "        if not pods.has_ended(pod):\n",
        "            return None\n        if not pods.has_ended(pod):\n",
        _FAULTS,
        only="lost_for_a_while",
    ),
    Guard(
        "that a pod is gone is asked of the cluster, not of what was heard",
        _RUNTIME,
        "            if pod is None or pod.uid != node.process:\n"
        "                pod = await self._objects.pod(node)\n",
        "",
        _FAULTS,
        only="two_platforms",
    ),
    Guard(
        "a namespace is one installation's",
        "runtimes/kubernetes/installation.py",
        "    if found is None or found.data.get(_ID) != installation:\n",
        "    if False:\n",
        "tests/devcluster/test_platform.py",
        only="belongs_to_one_database",
    ),
    Guard(
        "a volume stays when its claim goes",
        "runtimes/kubernetes/installation.py",
        'if found.reclaim_policy != "Retain":',
        "if False:",
        "tests/devcluster/test_platform.py",
        only="not_for_nodes",
    ),
    Guard(
        "a pod is known as the node's process before it is waited for",
        _RUNTIME,
        "        yield Checkpoint(\n"
        "            host=host,\n"
        "            process=running.uid,\n"
        "            revision=pods.revision(running),\n"
        "            start=Start(number=number, "
        "copy=await self._objects.volume(node)),\n"
        "        )\n",
        "",
        _STAND_IN,
        only="known_before",
    ),
    Guard(
        "a pod whose start broke off does not wait for ever",
        _RUNTIME,
        "            self._wait_later(node, pod, watched)\n",
        "            pass\n",
        _STAND_IN,
        only="broke_off",
    ),
    Guard(
        "a node is not stopped while another pod of it runs",
        _RUNTIME,
        "        if pod is None:\n            if not",
        "        if pod is None or pod.uid != node.process:\n            if not",
        _STAND_IN,
        only="another_pod",
    ),
    Guard(
        "a launch that came to a process and failed leaves none",
        "services/nodes/reconciler.py",
        "await fleet.runtime.observe(node) if node.has_process else None",
        "None",
        "tests/services/test_nodes.py",
        only="never_runs and not postgres",
    ),
    Guard(
        "a process that may run is not forgotten when its launch fails",
        "domain/observations.py",
        "        if after.has_process or after.wanted is not DesiredState.RUNNING:\n",
        "        if after.wanted is not DesiredState.RUNNING:\n",
        "tests/domain/test_observations.py",
    ),
    Guard(
        "a pod that others hold is not asked about without a pause",
        _LAUNCHES,
        "await self._objects.release(left)\n            elif why",
        "await self._objects.release(left)\n                continue\n"
        "            if why",
        _STAND_IN,
        only="others_hold",
    ),
    Guard(
        "a cluster whose watches lag is not asked without a pause",
        _LAUNCHES,
        "        await self._view.changed(_AT_LEAST_S)\n",
        "",
        _STAND_IN,
        only="heard_late",
    ),
    Guard(
        "each hindrance of a pod has its own time",
        _LAUNCHES,
        "            if hindrance.reason != hindered_by:\n",
        "            if not hindered_by:\n",
        _STAND_IN,
        only="own_time",
    ),
    Guard(
        "watches that end at once are not begun again without a pause",
        "runtimes/kubernetes/informer.py",
        "if loop.time() - began > _LASTING_S:",
        "if True:",
        _STAND_IN,
        only="ever_later",
    ),
    Guard(
        "of a pod's log no more than its end is kept",
        "runtimes/kubernetes/api.py",
        "bytes(kept[-MOST_TAIL:])",
        "bytes(kept)",
        _STAND_IN,
        only="long_log",
    ),
    Guard(
        "a pod reports on its own node alone",
        _TOKENS,
        "return self.name == manifests.name(node) and",
        "return",
        _REPORTS,
    ),
    Guard(
        "an earlier pod of a node reports nothing any more",
        _TOKENS,
        'node.process in {"", self.uid}',
        "True",
        _REPORTS,
    ),
    Guard(
        "a token for others than us is no token",
        _TOKENS,
        "            or AUDIENCE not in status.audiences\n",
        "",
        _REPORTS,
    ),
    Guard(
        "a token of another namespace is no token",
        _TOKENS,
        "            or not status.user.username.startswith(self._account)\n",
        "",
        _REPORTS,
    ),
    Guard(
        "words that are not lnd's do not reach a node's owner",
        _HOME_REPORTS,
        "if out_of_order(line.encode()) != [line]:",
        "if False:",
        _REPORTS,
    ),
    Guard(
        "lines that were read before are not announced again",
        _HOME_REPORTS,
        "if news is None or news.since != known:",
        "if news is None:",
        _REPORTS,
    ),
    Guard(
        "what a removed node had is not stored again",
        _HOME_REPORTS,
        "    if node.is_destroyed:\n",
        "    if False:\n",
        _REPORTS,
    ),
    Guard(
        "what an lnd said is told when its pod is gone",
        "runtimes/kubernetes/homes.py",
        "if len(said) < lines:",
        "if False:",
        _STAND_IN,
        only="earlier_lnd",
    ),
    Guard(
        "no more than the end of a log is taken from a companion",
        _HOME_REPORTS,
        "Annotated[bytes, Meta(max_length=MOST_TAIL)]",
        "bytes",
        _REPORTS,
        only="malformed",
    ),
    Guard(
        "processes of one database go by its clock",
        "app/opening.py",
        "    if database.is_alone:\n        yield utc_now\n",
        "    if True:\n        yield utc_now\n",
        "tests/app/test_shared_clock.py",
    ),
    Guard(
        "a companion has nothing that is secret of lnd",
        "runtimes/kubernetes/companions.py",
        '{"name": VOLUME, "mountPath": _FROM, "readOnly": True},',
        '{"name": "outfit", "mountPath": _FROM, "readOnly": True},',
        "tests/runtimes/test_manifests.py",
    ),
)
