"""The pages that people look at: all that the dashboard has but those named here."""

import re
from collections.abc import Mapping

from leyden.app.page_table import PAGES
from leyden.base.pages.visits import Who

_NODE = "/app/{organization_id}/nodes/{node_id}"
# What no eye sees as a page of its own. Whatever is added to the table is looked at
# until it is named here.
UNSEEN = frozenset(
    {
        "/",  # these three lead on
        "/app",
        "/app/",
        f"{_NODE}/wallet",
        "/app/authority.pem",  # these are files
        f"{_NODE}/certificate",
        f"{_NODE}/log/download",
        f"{_NODE}/backups/channels",
        f"{_NODE}/wallet/backups/replaced",
        "/app/{organization_id}/credit/ledger.csv",
        f"{_NODE}/wallet/facts",  # these are for scripts
        f"{_NODE}/wallet/backups",
        f"{_NODE}/changes",
        "/app/{organization_id}/nodes/changes",
        "/app/{organization_id}/events/changes",
        "/app/operator/events/changes",
        "/app/{organization_id}/channels/{order_id}/changes",
        "/app/{organization_id}/channels/quote",  # a part of a page
    }
)
# Of which of many is asked stands in the query of these.
_QUERIES = {
    "/app/account/passkeys/remove": "passkey={passkey_id}",
    "/app/account/confirm-email": "word={email_word}",
    "/app/{organization_id}/keys/revoke": "key={key_id}",
    "/app/operator/keys/revoke": "key={operator_key_id}",
    "/app/{organization_id}/team/remove": "user={user_id}",
    "/app/{organization_id}/team/withdraw": "invitation={invitation_id}",
}
_NAMES = re.compile(r"\{(\w+)\}")
_SEEN = [page for page in PAGES if page.method == "GET" and page.path not in UNSEEN]
# Seen on the way in, by whoever is not signed in yet.
DOORS = [page.path for page in _SEEN if page.needs is Who.ANYONE]
WALLET = [page.path for page in _SEEN if page.path.startswith(f"{_NODE}/wallet/")]
ROOMS = [
    page.path for page in _SEEN if page.path not in DOORS and page.path not in WALLET
]


def addresses(paths: list[str], ids: Mapping[str, str]) -> list[str]:
    """Fill in whose page it is, and of what; leave out what there is none of."""
    found = []
    for path in paths:
        query = _QUERIES.get(path)
        address = path if query is None else f"{path}?{query}"
        if ids.keys() >= set(_NAMES.findall(address)):
            found.append(address.format_map(ids))
    return found
