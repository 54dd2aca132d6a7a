"""The guards of images and wheels, and of gateways in containers; see mutations.py."""

from tests.guards import Guard

GUARDS = (
    Guard(
        "an installed program of other sources is not run",
        "daemons/packaged.py",
        'return Path(tools.key, "bin", program.name)',
        'return Path(tools.name.partition("-")[0], "bin", program.name)',
        "tests/daemons/test_packaged.py",
    ),
    Guard(
        "a service that puts a machine in the caller's place is named",
        "runtimes/kubernetes/callers.py",
        '        and each.spec.external_traffic_policy != "Local"\n',
        '        and each.spec.external_traffic_policy == "None"\n',
        "tests/runtimes/test_callers.py",
    ),
    Guard(
        "each gateway asks by a name of its own",
        "app/gateways.py",
        "        node_id=socket.gethostname(),\n",
        "",
        "tests/gateway/test_prepared.py",
    ),
)
