"""The guards of certificates from elsewhere; see mutations.py."""

from tests.guards import Guard

_TESTS = "tests/services/test_issuance.py"

GUARDS = (
    Guard(
        "an order is placed once, and taken on with its own key",
        "storage/sql/issued.py",
        '.where(_here, issued.c.order_url == "")',
        ".where(_here)",
        _TESTS,
        "beside",
    ),
    Guard(
        "what came of another order is not kept",
        "storage/sql/issued.py",
        "_KEPT = (_here, _in_this_order)",
        "_KEPT = (_here,)",
        _TESTS,
        "beside",
    ),
    Guard(
        "a chain is for the name and the key that were asked for",
        "services/issuance.py",
        "tls = handed_in.accept(chain, key, name=row.name, now=now)",
        "tls = handed_in.Tls(chain_pem=chain, key_pem=key)",
        _TESTS,
        "another_key",
    ),
    Guard(
        "who was refused waits longer each time",
        "services/issuance.py",
        "pause = self.first_retry * (1 << min(refusals - 1, 16))",
        "pause = self.first_retry",
        _TESTS,
        "peace",
    ),
    Guard(
        "a certificate that an owner handed in is not replaced",
        "services/node_commands.py",
        "            await tx.issued.forget(name)  "
        "# nobody else is asked for one any more\n",
        "",
        _TESTS,
        "handed_in",
    ),
    Guard(
        "what has ended is not served",
        "services/issuance.py",
        "    if now >= row.until:\n",
        "    if False:\n",
        _TESTS,
        "name_of_its_own",
    ),
    Guard(
        "only a question is answered at a name",
        "api/challenges.py",
        '([A-Za-z0-9_-]{16,256})")',
        '(.*)", re.DOTALL)',
        "tests/api/test_challenges.py",
    ),
    Guard(
        "a root is above a chain only where it has signed it",
        "gateway/roots.py",
        "                last.verify_directly_issued_by(root)\n",
        "                pass\n",
        "tests/gateway/test_roots.py",
    ),
)
