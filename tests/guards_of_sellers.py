"""Guards of direct channels: one channel for one payment, and nowhere it may not go."""

from tests.guards import Guard

_OPENING = "services/channels/opening.py"
_RESERVATIONS = "services/channels/reservations.py"
_SOURCES = "services/channels/sources.py"
_TESTS = "tests/services/test_direct_channels.py"
_FUNDINGS = "domain/fundings.py"
_FUNDING_TESTS = "tests/services/test_fundings.py"

GUARDS = (
    Guard(
        "the lnds that the settings name get no channel",
        "services/channels/destinations.py",
        "own = {shop.rules.treasury, shop.rules.seller}",
        "own = {shop.rules.treasury}",
        "tests/api/flow/test_direct.py",
        "settings_name",
    ),
    Guard(
        "a hosted node's channel is for its own key",
        "services/channels/destinations.py",
        'if known and given not in {"", known}:',
        "if False:",
        "tests/api/flow/test_hosted.py",
    ),
    Guard(
        "a half written page of a graph is not believed",
        "lnd/identity.py",
        "if not is_right or checksum != _fnv(raw[:-8]):",
        "if not is_right:",
        "tests/lnd/test_identity.py",
    ),
    Guard(
        "a channel without confirmations is not published by being open",
        "sellers/lnd.py",
        'return not channel.get("zero_conf") or bool(',
        "return True or bool(",
        "tests/contracts/test_zero_conf.py",
        "open_and_not_published",
    ),
    Guard(
        "a peer that has not yet told its features is not known to have none",
        "sellers/lnd.py",
        'for bit in each.get("features", ())) or None',
        'for bit in each.get("features", ()))',
        "tests/sellers/test_features.py",
    ),
    Guard(
        "a channel without confirmations is opened so, or not at all",
        _OPENING,
        "zero_conf=self._to.zero_conf,",
        "zero_conf=False,",
        "tests/api/flow/test_zero_conf.py",
    ),
    Guard(
        "an order over LSPS1 without confirmations is opened so",
        "services/channels/lsps1/server.py",
        "zero_conf=not wanted.confirmations",
        "zero_conf=False",
        "tests/services/test_lsps1.py",
        "zero_confirmations",
    ),
    Guard(
        "leases are watched where fundings cannot be",
        "services/channels/seller_watch.py",
        "    finally:  # an answer that is missing for the one is no reason",
        "    except OSError:  #",
        _TESTS,
        "fundings_cannot_be",
    ),
    Guard(
        "zero-conf channels are accepted from one peer only",
        "lnd/acceptor.py",
        'trusted = base64.b64decode(asked["node_pubkey"]).hex() == peer',
        "trusted = True",
        "tests/lnd/test_acceptor.py",
    ),
    Guard(
        "a source that is not listed sells nothing",
        _SOURCES,
        "for each in shop.rules.sources",
        "for each in sources.EVERY",
        "tests/api/flow/test_sources.py",
    ),
    Guard(
        "direct channels are refused where own is not listed",
        "services/channels/destinations.py",
        "    sources.check_direct(shop, field=field)\n",
        "",
        "tests/api/flow/test_sources.py",
    ),
    Guard(
        "a refusal counts only once nothing is under way",
        _OPENING,
        "                if opening.state is OpeningState.NONE:\n"
        "                    await self._refused(answer)",
        "                if True:\n                    await self._refused(answer)",
        _TESTS,
    ),
    Guard(
        "nothing is opened for a lock that ends soon",
        _OPENING,
        "if _lock_left(order, wallet.height) < self._rules.lock_left:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "nothing is opened for money that is not held any more",
        _OPENING,
        "if held < order.total_fee:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "what is not published is not settled",
        _OPENING,
        "case OpeningState.UNPUBLISHED:\n"
        "                await self._unpublished(opening, wallet)",
        "case OpeningState.UNPUBLISHED:\n                await self._fill(opening)",
        _TESTS,
    ),
    Guard(
        "no fee above the price is paid",
        _OPENING,
        "if wallet.fee_sat_per_vb > order.quote.highest_fee_sat_per_vb:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "one opening to a node at a time",
        _OPENING,
        "if asked or opened",
        "if opened",
        _TESTS,
    ),
    Guard(
        "reserved coins are promised to nobody else",
        _RESERVATIONS,
        "if each.outpoint not in reserved)",
        "if True)",
        _TESTS,
    ),
    Guard(
        "an ended order reserves nothing",
        "services/channels/unit_of_work.py",
        "if ended := self._ended_direct():",
        "if ended := []:",
        _TESTS,
    ),
    Guard(
        "another lnd is not sold from",
        _RESERVATIONS,
        "if wallet.pubkey != expected:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "the treasury is not sold from",
        _RESERVATIONS,
        "if treasury is not None and wallet.pubkey == treasury.pubkey:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "no more is ordered in an hour than may be",
        _RESERVATIONS,
        "if in_an_hour > rules.seller_most_per_hour:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "no node gets more than it may",
        _RESERVATIONS,
        "if for_the_node > rules.seller_most_per_peer:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "a bump is stored before it is asked for, and waits after it",
        _FUNDINGS,
        "again = not funding.bumps or chain.height - funding.bumped "
        ">= rules.bump_again",
        "again = True",
        _FUNDING_TESTS,
    ),
    Guard(
        "no bump pays more than the highest rate",
        _FUNDINGS,
        "rate = min(rules.highest_sat_per_vb, max(chain.sat_per_vb, least))",
        "rate = max(chain.sat_per_vb, least)",
        _FUNDING_TESTS,
    ),
    Guard(
        "no bump takes coins beside the change",
        _FUNDINGS,
        "if more > change.sats - _DUST:",
        "if False:",
        _FUNDING_TESTS,
    ),
    Guard(
        "a conflict counts once it is deep, and proven",
        _FUNDINGS,
        "if rival.proven and rival.confirmations >= rules.lost_after:",
        "if rival.confirmations >= rules.lost_after:",
        _FUNDING_TESTS,
    ),
    Guard(
        "a lost channel is given back once",
        "services/channels/funding_watch.py",
        "        if not await _change(tx, funding, after):\n            return",
        "        await _change(tx, funding, after)",
        _FUNDING_TESTS,
    ),
    Guard(
        "the price of a lost channel is booked back",
        "services/channels/filling.py",
        "work.post(ledger.undone(known))",
        "ledger.undone(known)",
        _FUNDING_TESTS,
    ),
    Guard(
        "the platform's own nodes get no channel",
        "services/channels/destinations.py",
        "if key in own:",
        "if False:",
        "tests/api/flow/test_direct.py",
    ),
    Guard(
        "a name that leads to a private address is not dialled",
        "services/channels/dialing.py",
        "if not all(self.reach.permits(each, port) for each in judged):",
        "if False:",
        "tests/services/test_dialing.py",
    ),
    Guard(
        "a key is on the curve",
        "domain/destinations.py",
        "return pow(square, (_FIELD_PRIME - 1) // 2, _FIELD_PRIME) == 1",
        "return True",
        "tests/domain/test_destinations.py",
    ),
)
