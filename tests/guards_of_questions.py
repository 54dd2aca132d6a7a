"""The guards of what pages ask before they do it; see mutations.py."""

from tests.guards import Guard

_CONFIRMATIONS = "tests/web/test_confirmations.py"
_NODES = "tests/web/test_nodes.py"

GUARDS = (
    Guard(
        "a node is deleted by who types its name",
        "web/node.py",
        'if visit.form.text("name") != node.name:',
        "if False:",
        _CONFIRMATIONS,
        "wrong_name",
    ),
    Guard(
        "what can no longer be done is not asked",
        "web/confirmations.py",
        "after = apply_command(node, action, now=visit.now)",
        "after = node",
        _CONFIRMATIONS,
        "no_longer_be_done",
    ),
    Guard(
        "a key that is revoked is not asked about",
        "web/confirmations.py",
        "if key.id == wanted and key.is_live(visit.now)",
        "if key.id == wanted",
        _CONFIRMATIONS,
        "a_key_is_named",
    ),
    Guard(
        "a restart says that it locks the wallet",
        "web/templates/confirm/restart.html",
        '{% include "confirm/locks.html" %}',
        "",
        _CONFIRMATIONS,
        "names_its_consequence",
    ),
    Guard(
        "settings that lock an open wallet are confirmed first",
        "web/node_settings.py",
        'if is_open and restarting and not visit.form.ticked("confirmed"):',
        "if False:",
        _CONFIRMATIONS,
        "settings_that_restart",
    ),
    Guard(
        "a node that was stopped is not stopped again",
        "domain/node_moves.py",
        "return asked and (node.status, action) in MOVES",
        "return (node.status, action) in MOVES",
        _NODES,
        "commands_are_buttons",
    ),
    Guard(
        "an update waits until the wallet is open",
        "web/node.py",
        "if node.status not in UPDATED_IN:",
        "if False:",
        _NODES,
        "what_it_takes_away",
    ),
    Guard(
        "a whitelist without one's own address warns",
        "web/templates/nodes/whitelist.html",
        "{% if may_change and not allowed_myself %}",
        "{% if false %}",
        _NODES,
        "own_address",
    ),
)
