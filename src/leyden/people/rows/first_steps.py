"""An organization's progress with the first steps on the dashboard."""

from leyden.base.database.statements import Run, SqlFile
from leyden.values import Struct

sql = SqlFile(__file__)


class FirstSteps(Struct, frozen=True, kw_only=True):
    """An organization's progress; `node` is its first, preferably with a wallet."""

    node_id: str = ""
    has_wallet: bool = False
    has_channel: bool = False
    has_key: bool = False
    has_endpoint: bool = False  # the organization's, or a node's that gets events


class FirstStepsOfAll:
    """Reads nodes, orders, keys and webhook endpoints together."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def find(self, organization_id: str) -> FirstSteps:
        """Return an organization's progress."""
        for row in await self._run(sql.find, organization_id=organization_id):
            node_id, has_wallet, has_channel, has_key, has_endpoint = row
            return FirstSteps(
                node_id=node_id or "",
                has_wallet=bool(has_wallet),
                has_channel=bool(has_channel),
                has_key=bool(has_key),
                has_endpoint=bool(has_endpoint),
            )
        return FirstSteps()
