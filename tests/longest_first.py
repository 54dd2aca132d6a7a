"""What takes longest is begun first, the others in random order.

Files that share a platform are run by one process, one after the other, and it ends
with the last of them; every other file is one process's from its beginning to its end.
Were one that takes minutes begun last, a processor would have it alone while the
others have nothing left to do.
"""

from collections.abc import Generator, Mapping
from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
# Files with the same platform or private chain, which is started once for them all.
TOGETHER: Mapping[str, tuple[str, ...]] = {
    "auction": (
        "tests/stories/test_auction.py",
        "tests/channels/contracts/test_market.py",
    ),
    "cluster": (
        # These before who stops the cluster.
        "tests/workshop/devcluster/test_platform.py",
        "tests/workshop/devcluster/test_kills.py",
        "tests/workshop/devcluster/test_machines.py",
        "tests/workshop/devcluster/test_callers.py",
        "tests/workshop/devcluster/test_moves.py",
        "tests/workshop/devcluster/test_chart.py",
        "tests/workshop/devcluster/test_outages.py",
        "tests/workshop/devcluster/test_installed.py",
        "tests/workshop/devcluster/test_informer.py",
        "tests/workshop/devcluster/test_node_faults.py",
        "tests/workshop/devcluster/test_cluster.py",
    ),
    "treasury": (
        "tests/stories/test_rails.py",
        "tests/nodes/contracts/test_identity.py",
        "tests/channels/contracts/test_forwarding.py",
        "tests/channels/contracts/test_messages.py",
        "tests/channels/contracts/test_payer.py",
        "tests/channels/contracts/test_payments.py",
        "tests/channels/contracts/test_seller.py",
        "tests/channels/contracts/test_unpublished.py",
        "tests/channels/contracts/test_wrapping.py",
        "tests/channels/contracts/test_zero_conf.py",
    ),
    "trading platform": (
        "tests/stories/test_buy_inbound.py",
        "tests/stories/test_buying.py",
        "tests/stories/test_channel_in_browser.py",
        "tests/stories/test_direct_channel.py",
        "tests/stories/test_first_channel.py",
        "tests/stories/test_first_payment.py",
        "tests/stories/test_lsps1.py",
        "tests/stories/test_receiving.py",
        "tests/stories/test_claim.py",
        "tests/stories/test_zero_conf.py",
        "tests/stories/test_funding.py",
    ),
    "platform": (
        "tests/stories/test_auto_unlock.py",
        "tests/stories/test_browser.py",
        "tests/stories/test_node_pages.py",
        "tests/stories/test_rebalancing.py",
        "tests/stories/test_channels_come_home.py",
        "tests/stories/test_node_story.py",
        "tests/stories/test_owner.py",
        "tests/stories/test_recipes.py",
        "tests/stories/test_remote_signing.py",
        "tests/stories/test_peers.py",
        "tests/stories/test_peer_flood.py",
        "tests/stories/test_lost_machine.py",
    ),
}
LONGEST = (  # `--durations=0` says what belongs here
    *TOGETHER["platform"],
    "tests/stories/test_just_in_time.py",
    "tests/stories/test_wrapped_invoices.py",
    "tests/stories/test_readme.py",
    *TOGETHER["trading platform"],
    *TOGETHER["treasury"],
    "tests/crash/test_installations.py",
    *TOGETHER["auction"],
    *TOGETHER["cluster"],
    "tests/crash/test_replicas.py",
    "tests/workshop/devcluster/test_api_only.py",
    "tests/app/pages/test_screens.py",
    "tests/nodes/lnd/test_real_lnd.py",
    "tests/app/pages/test_stumbles.py",
    "tests/nodes/test_nodes.py",
    "tests/nodes/ciphertext/test_recognition.py",
    "tests/nodes/gateway/test_connection_limits.py",
    "tests/people/pages/test_rights.py",
    "tests/people/pages/test_sign_in.py",
    "tests/app/cli/test_machine.py",
    "tests/client/test_vault.py",
    "tests/test_reaper.py",
    "tests/nodes/pages/wallet/test_sealing.py",
    "tests/nodes/pages/test_wallet_screens.py",
    "tests/customer/trust/test_commands.py",
    "tests/crash/test_kill_while_an_order_is_paid.py",
    "tests/crash/test_kill_while_a_node_is_made.py",
    "tests/channels/test_jit.py",
    "tests/channels/test_wrapped.py",
    "tests/channels/test_model.py",
    "tests/base/daemons/test_auctioneer.py",
)


# Hours of tests that share nothing: every process takes its part.
_APART = ("tests/test_mutations.py", "tests/test_mutants.py")
_GROUPS: Mapping[str, str] = {
    name: group for group, names in TOGETHER.items() for name in names
}


def group_of(nodeid: str) -> str:
    """Return what a test belongs to: its file, or what several files share."""
    if "[pods" in nodeid:  # in a contract's suite those that take the cluster
        return "cluster"
    file = nodeid.partition("::")[0]
    if file in _APART:
        return nodeid
    return _GROUPS.get(file, file)


class _Together(LoadFileScheduling):  # type: ignore[misc]
    """Scheduling by file, with files that belong together as one."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--longest-first",
        action="store_true",
        help="Begin what takes longest first, and keep together what belongs so.",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: object
) -> LoadFileScheduling | None:
    return _Together(config, log) if config.option.longest_first else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.option.longest_first:
        _refuse_apart(items)
        positions = {
            str(ROOT / name): position for position, name in enumerate(LONGEST)
        }
        items.sort(key=lambda item: positions.get(str(item.path), len(LONGEST)))


def _refuse_apart(items: list[pytest.Item]) -> None:
    """Refuse a test that would start for itself what a group shares."""
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        for group in TOGETHER:
            found = item._fixtureinfo.name2fixturedefs.get(group.replace(" ", "_"))
            is_shared = found and found[-1].scope == "session"  # and not its own
            if is_shared and group_of(item.nodeid) != group:
                raise pytest.UsageError(
                    f"{item.nodeid} uses the fixture of {group!r}: add its file to "
                    f"TOGETHER in {__name__}"
                )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """End what files have shared after the last of their tests."""
    yield
    group = group_of(item.nodeid)
    if nextitem is None or group not in TOGETHER or group_of(nextitem.nodeid) == group:
        return
    manager = item.session._fixturemanager
    for fixture in manager.getfixturedefs(group.replace(" ", "_"), item) or ():
        if fixture.scope == "session" and fixture.cached_result is not None:
            fixture.finish(item._request)  # type: ignore[attr-defined]
