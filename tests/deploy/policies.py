"""NetworkPolicies, evaluated rule by rule as their specification reads.

A connection passes when the policies of its source let it out and those of its target
let it in. A pod that no policy of a direction selects has no limits in it.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from leyden.values import Struct, field

Policy = Mapping[str, Any]


class End(Struct, frozen=True, kw_only=True):
    """One end of a connection: a pod, or an address outside of the cluster."""

    address: str
    namespace: str = ""  # "" is outside
    labels: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)  # by name


def passes(
    policies: Sequence[Policy], source: End, target: End, port: int, protocol: str
) -> bool:
    """Return whether a connection passes."""
    return _allowed(
        policies, "Egress", source, target, target, port, protocol
    ) and _allowed(policies, "Ingress", target, source, target, port, protocol)


def _allowed(
    policies: Sequence[Policy],
    direction: str,
    held: End,
    other: End,
    target: End,
    port: int,
    protocol: str,
) -> bool:
    of_it = [
        each["spec"]
        for each in policies
        if held.namespace
        and each["metadata"]["namespace"] == held.namespace
        and _selects(each["spec"]["podSelector"], held.labels)
        and direction in each["spec"]["policyTypes"]
    ]
    if not of_it:
        return True
    peers = "to" if direction == "Egress" else "from"
    rules = [rule for spec in of_it for rule in spec.get(direction.lower()) or ()]
    return any(
        (peers not in rule or any(_is(peer, other) for peer in rule[peers]))
        and (
            "ports" not in rule
            or any(_at(each, target, port, protocol) for each in rule["ports"])
        )
        for rule in rules
    )


def _is(peer: Mapping[str, Any], end: End) -> bool:
    """Return whether an end is meant; a block of addresses may mean pods too."""
    if "ipBlock" in peer:
        address = ipaddress.ip_address(end.address)
        block = peer["ipBlock"]
        return address in ipaddress.ip_network(block["cidr"]) and not any(
            address in ipaddress.ip_network(each) for each in block.get("except", ())
        )
    if not end.namespace:
        return False
    names = {"kubernetes.io/metadata.name": end.namespace}
    return _selects(peer.get("namespaceSelector", {}), names) and _selects(
        peer.get("podSelector", {}), end.labels
    )


def _at(wanted: Mapping[str, Any], target: End, port: int, protocol: str) -> bool:
    named = wanted["port"]
    number = target.ports.get(named) if isinstance(named, str) else named
    if number is None or wanted.get("protocol", "TCP") != protocol:
        return False
    return bool(number <= port <= wanted.get("endPort", number))


def _selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    equal = all(
        labels.get(name) == value
        for name, value in (selector.get("matchLabels") or {}).items()
    )
    for each in selector.get("matchExpressions") or ():
        assert each["operator"] == "In"
        equal = equal and labels.get(each["key"]) in each["values"]
    return equal
