"""The guards of certificates from elsewhere; see mutations.py."""

from tests.guards import Guard

_TESTS = "tests/services/test_issuance.py"

GUARDS = (
    Guard(
        "an order that nobody finds again is not kept",
        "certificates/acme.py",
        'return self._url({"order": placed.location}, "order")',
        "return placed.location",
        "tests/certificates/test_acme.py",
    ),
    Guard(
        "an order is placed once, and taken on with its own key",
        "storage/sql/issued.sql",
        "    AND order_url = ''\n",
        "",
        _TESTS,
        "beside",
    ),
    Guard(
        "what came of another order is not kept",
        "storage/sql/issued.sql",
        "    refusals = 0\nWHERE name = :name\n    AND order_url = :order_url\n",
        "    refusals = 0\nWHERE name = :name\n",
        _TESTS,
        "beside",
    ),
    Guard(
        "a chain is for the name and the key that were asked for",
        "certificates/pem_chain.py",
        "    tls = parse(text, key_pem.decode(), name=name, now=now)\n",
        "    tls = Tls(chain_pem=chain_pem, key_pem=key_pem)\n",
        _TESTS,
        "another_key",
    ),
    Guard(
        "an authority's chain is read beside the event loop",
        "services/nodes/issuance.py",
        "return await UPLOADS.run(ISSUANCE, work)",
        "return work()",
        _TESTS,
        "beside_the_event_loop",
    ),
    Guard(
        "who was refused waits longer each time",
        "services/nodes/issuance.py",
        "pause = self.first_retry * (1 << min(refusals - 1, 16))",
        "pause = self.first_retry",
        _TESTS,
        "peace",
    ),
    Guard(
        "a certificate that an owner handed in is not replaced",
        "services/nodes/commands.py",
        "            await tx.issued.delete(name)  "
        "# nobody else is asked for one any more\n",
        "",
        _TESTS,
        "handed_in",
    ),
    Guard(
        "what has ended is not served",
        "services/nodes/issuance.py",
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
        "certificates/roots.py",
        "                last.verify_directly_issued_by(root)\n",
        "                pass\n",
        "tests/certificates/test_roots.py",
    ),
)
