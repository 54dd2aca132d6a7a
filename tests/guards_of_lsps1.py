"""Guards of LSPS1: strangers hold no more than they may, and see their own alone."""

from tests.guards import Guard

_PLACE = "services/channels/lsps1"
_SERVER = f"{_PLACE}/server.py"
_LIMITS = f"{_PLACE}/limits.py"
_RPC = f"{_PLACE}/rpc.py"
_LISTENING = f"{_PLACE}/listening.py"
_TESTS = "tests/services/test_lsps1.py"
_READING = "tests/services/test_lsps1_listening.py"

GUARDS = (
    Guard(
        "over BOLT8 an order is its peer's",
        _SERVER,
        "if who.source is Source.BOLT8 and (to is None or to.pubkey != who.peer):",
        "if False:",
        _TESTS,
    ),
    Guard(
        "an order is found the way it came, and no customer's is",
        _SERVER,
        "if kept is None or kept.source is not who.source:",
        "if kept is None:",
        _TESTS,
    ),
    Guard(
        "what is no key is never ordered for",
        _SERVER,
        "if not destinations.is_key(who.peer):",
        "if False:",
        _TESTS,
    ),
    Guard(
        "orders are made one after the other, so that no flood makes invoices",
        _SERVER,
        "        self._turn = asyncio.Lock()",
        "        self._turn = asyncio.Semaphore(1_000)",
        _TESTS,
    ),
    Guard(
        "the limits hold between processes",
        _SERVER,
        "await limits.check_orders(\n"
        "                tx, shop.rules, who, wanted.lsp_balance, counted=True\n"
        "            )",
        "pass",
        _TESTS,
    ),
    Guard(
        "paid orders without a channel reserve no more coins than they may",
        "services/channels/reservations.py",
        "await check_coins(tx, shop.rules.lsps1, coins)",
        "pass",
        _TESTS,
    ),
    Guard(
        "a node has so many unpaid orders",
        _LIMITS,
        "is_over = unpaid + more > rules.lsps1.orders_per_peer",
        "is_over = False",
        _TESTS,
    ),
    Guard(
        "an address has so many unpaid orders",
        _LIMITS,
        "if unpaid + more > rules.lsps1.orders_per_address:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "strangers take no more than half of a node's capacity",
        _LIMITS,
        "is_over = is_over or together > rules.seller_most_per_peer // 2",
        "pass",
        _TESTS,
    ),
    Guard(
        "a paid order without a channel counts as long as it reserves coins",
        "storage/sql/lsps1_orders.sql",
        "JOIN reserved_coin ON reserved_coin.order_id = lsps1_order.order_id;",
        "JOIN reserved_coin ON reserved_coin.order_id = lsps1_order.order_id\n"
        "JOIN channel_order ON channel_order.id = lsps1_order.order_id\n"
        "WHERE channel_order.status = 'waiting_payment';",
        _TESTS,
        "without_a_channel",
    ),
    Guard(
        "orders without a channel reserve so many coins",
        _LIMITS,
        "if reserved + sum(coin.sats for coin in more) > rules.most_reserved:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "no answer is answered",
        _RPC,
        'if "result" in asked or "error" in asked:',
        "if False:",
        _TESTS,
    ),
    Guard(
        "what is too long is not parsed",
        _RPC,
        "if len(raw) > LONGEST:",
        "if False:",
        _TESTS,
    ),
    Guard(
        "LDK is sent no data with an error",
        _RPC,
        "if fault.data and not _is_ldk(id_):",
        "if fault.data:",
        _TESTS,
    ),
    Guard(
        "LDK is not told of a held payment",
        _RPC,
        'hides_hold=_is_ldk(asked["id"])',
        "hides_hold=False",
        _TESTS,
    ),
    Guard(
        "what strangers pay for is no credit of the operator's organization",
        "domain/pricing.py",
        "return replace(_direct_price(channel, terms), keeps_unused_fee=True)",
        "return _direct_price(channel, terms)",
        _TESTS,
    ),
    Guard(
        "fields that nobody knows are refused",
        "domain/lsps1.py",
        "if extra := [each for each in params if each not in known]:",
        "if extra := []:",
        "tests/domain/test_lsps1.py",
    ),
    Guard(
        "one peer has so many requests at once",
        _LISTENING,
        "or self._of_peer[peer] >= _AT_ONCE_OF_PEER",
        "or False",
        _READING,
    ),
    Guard(
        "a reader that has lost its claim stores no order",
        _LISTENING,
        "transaction = self._due.transaction",
        "transaction = None",
        _READING,
    ),
)
