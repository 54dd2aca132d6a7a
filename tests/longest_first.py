"""The files that take longest are begun first, the others in random order.

Each is run by one process from its beginning to its end. Were one that takes minutes
begun last, a processor would have it alone while the others have nothing left to do.
"""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LONGEST = (  # `--durations=0` says what belongs here
    "tests/acceptance/test_readme.py",
    "tests/acceptance/test_auction.py",
    "tests/services/test_model.py",
    "tests/crash/test_kill_while_a_node_is_made.py",
    "tests/contracts/test_market.py",
    "tests/acceptance/test_first_channel.py",
    "tests/acceptance/test_channel_in_browser.py",
    "tests/acceptance/test_channels_come_home.py",
    "tests/devnet/test_network.py",
    "tests/contracts/test_runtime.py",
    "tests/lnd/test_real_lnd.py",
    "tests/test_reaper.py",
    "tests/crash/test_kill_at_every_fsync.py",
    "tests/crash/test_kill_while_a_webhook_leaves.py",
    "tests/web/test_wallet_screens.py",
    "tests/web/test_screens.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--longest-first",
        action="store_true",
        help="Begin the files that take longest first.",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.option.longest_first:
        places = {str(ROOT / name): place for place, name in enumerate(LONGEST)}
        items.sort(key=lambda item: places.get(str(item.path), len(LONGEST)))
