"""Guards of what calls out for an organization, and of what it may make us call."""

from tests.guards import Guard

GUARDS = (
    Guard(
        "an organization has so many look-ups under way",
        "webhooks/names.py",
        "async with share, asyncio.timeout(self._longest_s):",
        "async with asyncio.timeout(self._longest_s):",
        "tests/webhooks/test_names.py",
    ),
    Guard(
        "a name without an answer is given up",
        "webhooks/names.py",
        "async with share, asyncio.timeout(self._longest_s):",
        "async with share, asyncio.timeout(None):",
        "tests/webhooks/test_names.py",
        "fails_in_time",
    ),
    Guard(
        "an organization leaves room for others' deliveries",
        "services/concurrency.py",
        "if self._under_way[organization_id] >= self._room:",
        "if not self._room:",
        "tests/services/test_concurrency.py tests/services/test_webhooks_arrive.py",
    ),
    Guard(
        "an event is sent again by hand so often",
        "services/webhooks.py",
        "node_id, event_id)\n    _count(courier, node)\n",
        "node_id, event_id)\n",
        "tests/api/test_webhooks.py",
    ),
    Guard(
        "a webhook is tested so often",
        "services/webhooks.py",
        "_count(courier, node)\n    now = courier.clock()",
        "now = courier.clock()",
        "tests/api/test_webhooks.py",
    ),
    Guard(
        "many names of one receiver are counted together",
        "services/by_hand.py",
        "_HOSTS = 3",
        "_HOSTS = 1_000",
        "tests/services/test_webhooks.py",
    ),
    Guard(
        "a test tells what receivers know",
        "domain/webhooks.py",
        "asked or (status if status in ANNOUNCED else HARMLESS)",
        "asked or status",
        "tests/services/test_webhooks.py",
    ),
    Guard(
        "whoever takes its time is heard of",
        "storage/sql/answers.py",
        """    .values(started=bindparam("now"))
    .returning(answers.c.key)
)
SAVE""",
        """    .values(started=answers.c.started + 0 * bindparam("now"))
    .returning(answers.c.key)
)
SAVE""",
        "tests/api/flow/test_one_key.py",
    ),
    Guard(
        "of our own requests we know which are under way",
        "api/idempotency.py",
        "        return mine in _running\n",
        "        return saved.started > now - ABANDONED\n",
        "tests/api/flow/test_one_key.py",
    ),
    Guard(
        "the auction is called without proxies",
        "market/poold.py",
        '    ("grpc.enable_http_proxy", 0),\n',
        "",
        "tests/test_calls_out.py",
    ),
    Guard(
        "the treasury is called without proxies",
        "payments/treasury.py",
        "trust_env=False",
        "trust_env=True",
        "tests/test_calls_out.py",
    ),
    Guard(
        "nodes are called without proxies",
        "lnd/client.py",
        "trust_env=False",
        "trust_env=True",
        "tests/test_calls_out.py",
    ),
    Guard(
        "whoever issues certificates is called without proxies",
        "gateway/acme.py",
        "trust_env=False",
        "trust_env=True",
        "tests/test_calls_out.py",
    ),
    Guard(
        "what is started inherits what is harmless",
        "processes/spawning.py",
        "for name in _HARMLESS if name in os.environ",
        "for name in os.environ",
        "tests/test_calls_out.py",
    ),
    Guard(
        "a webhook is not set to what may not be called",
        "domain/node_settings.py",
        "    if settings.webhook:\n"
        "        webhook_urls.check_address(settings.webhook, calls.webhook)\n",
        "",
        "tests/domain/test_reach.py tests/api/nodes/test_node_commands.py",
    ),
    Guard(
        "a webhook is not changed to what may not be called",
        "domain/node_settings.py",
        "if settings.webhook and settings.webhook != current.webhook:",
        "if False:",
        "tests/domain/test_reach.py tests/api/nodes/test_node_commands.py",
    ),
    Guard(
        "a signer is not where nodes may not call",
        "domain/remote_signers.py",
        "if not reach.permits_host(host, int(port)):",
        "if False:",
        "tests/domain/test_reach.py",
    ),
    Guard(
        "a signer's address can be read in one way only",
        "domain/remote_signers.py",
        'if _NUMBER.fullmatch(host.rpartition(".")[2]) and not _is_ipv4(host):',
        "if False:",
        "tests/domain/test_reach.py",
    ),
)
