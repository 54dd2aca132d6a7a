"""Guards of what counts as confirmed, whatever a wallet says."""

from tests.guards import Guard

_BEST = "lnd/best_chain.py"
_BEST_TESTS = "tests/lnd/test_best_chain.py"
_COINS = "payments/coins.py"
_TREASURIES = "tests/contracts/test_payments.py"

GUARDS = (
    Guard(
        "what the chain took back after it was spent raises an alarm",
        "services/operators/alarms.py",
        "        *await _reversed(reader),\n",
        "",
        "tests/services/test_alarms.py",
        "took_back",
    ),
    Guard(
        "a coin counts only in a block that the chain has",
        _COINS,
        "each.height if each in confirmed else 0",
        "each.height if each else 0",
        _TREASURIES,
        "count_again and lnd-2",
    ),
    Guard(
        "a coin that is named twice counts in the block that is there",
        _COINS,
        "if not height and outpoint in self._coins:",
        "if False:",
        _TREASURIES,
        "count_again and lnd-2",
    ),
    Guard(
        "a block that is named wrongly is read",
        _BEST,
        "                or await self._has(hashes[each.height], each.txid)\n",
        "",
        _BEST_TESTS,
    ),
    Guard(
        "blocks that were known are asked for again once the chain is another",
        _BEST,
        "if self._known and not await self._is_unchanged(max(self._known)):",
        "if False:",
        _BEST_TESTS,
    ),
    Guard(
        "blocks are compared with one chain, not with parts of two",
        _BEST,
        "if await self._at(top) == first:",
        "if True:",
        _BEST_TESTS,
    ),
    Guard(
        "a funding is watched until its burial is proven",
        "domain/fundings.py",
        "found.proven and found.confirmations >= rules.buried_after",
        "found.confirmations >= rules.buried_after",
        "tests/services/test_fundings.py",
        "proven_is_watched",
    ),
    Guard(
        "the operator is told whose money a lost order over LSPS1 is",
        "services/operators/attention.py",
        "return Reason.OWED if order.id in strangers else Reason.LOST",
        "return Reason.LOST",
        "tests/services/test_alarms.py",
        "needs_the_operator and not postgres",
    ),
    Guard(
        "no bump is asked for that nodes would not relay",
        "domain/fundings.py",
        "(child is not None and more < child.fee + CHILD_VBYTES)",
        "False",
        "tests/domain/test_fundings.py",
    ),
)
