"""Open every sealed value of a database, to verify that the keys fit."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Column, Connection, Table, select

from leyden.base.database import sealing_keys
from leyden.base.database.every_table import metadata
from leyden.base.database.secrets import Sealer
from leyden.base.rows import answers
from leyden.channels.services import ticket_purpose
from leyden.errors import SetupError
from leyden.events.rows.emails import email_purpose
from leyden.events.rows.subscriptions import (
    old_purpose,
    secret_purpose,
    url_purpose,
    webhook_secret_purpose,
)
from leyden.nodes.backups import macaroon_purpose, seed_purpose
from leyden.nodes.issuance import ACCOUNT, name_purpose
from leyden.nodes.launch_specs import key_purpose, settings_purpose
from leyden.nodes.onions.onions import seed_purpose as onion_purpose
from leyden.people.sign_in import TOTP
from leyden.values import Struct

_AT_ONCE: Final = 500


def _replaced(row: Mapping[str, Any]) -> str:
    node_id, name = row["node_id"], row["name"]
    return macaroon_purpose(node_id, name) if name else seed_purpose(node_id)


# The purpose that a column's value is sealed for, from the rest of its row.
PURPOSES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "channel_order.sealed_ticket": lambda row: ticket_purpose(row["id"]),
    "email.sealed": lambda row: email_purpose(row["id"]),
    "issued_certificate.key": lambda row: name_purpose(row["name"]),
    "issued_certificate.order_key": lambda row: name_purpose(row["name"]),
    "issuer_account.sealed": lambda row: ACCOUNT.format(row["directory"]),
    "node_macaroon.sealed": lambda row: macaroon_purpose(row["node_id"], row["name"]),
    "node_onion.seed": lambda row: onion_purpose(row["node_id"]),
    "node_outfit.key": lambda row: key_purpose(row["node_id"]),
    "node_outfit.sealed_settings": lambda row: settings_purpose(row["node_id"]),
    "node_outfit.webhook_secret": lambda row: webhook_secret_purpose(row["node_id"]),
    "node_seed.sealed": lambda row: seed_purpose(row["node_id"]),
    "replaced_backup.sealed": _replaced,
    "saved_answer.body": lambda row: f"{answers.PURPOSE} of {row['organization_id']}",
    "secret_check.sealed": lambda _: sealing_keys.PURPOSE,
    "totp.sealed": lambda row: TOTP.format(row["user_id"]),
    "subscription.sealed_old_secret": lambda row: old_purpose(
        secret_purpose(row["id"], row["format"])
    ),
    "subscription.sealed_secret": lambda row: secret_purpose(row["id"], row["format"]),
    "subscription.sealed_url": lambda row: url_purpose(row["id"]),
    "webhook_receiver.sealed_old_secret": lambda row: old_purpose(
        webhook_secret_purpose(row["node_id"])
    ),
}


class Opened(Struct, frozen=True, kw_only=True):
    """The number of opened values, and those that could not be opened."""

    values: int
    shut: list[str]


def open_all(connection: Connection, sealer: Sealer) -> Opened:
    """Open every sealed value, without storing any."""
    values, shut = 0, []
    for table, column in sealed_columns():
        name = f"{table.name}.{column.name}"
        failed = 0
        for row in _rows(connection, table, column):
            values += 1
            try:
                sealer.open(bytes(row[column.name]), purpose=PURPOSES[name](row))
            except SetupError:
                failed += 1
        if failed:
            shut.append(f"{failed} values of {name} do not open with the keys")
    return Opened(values=values, shut=shut)


def sealed_columns() -> Iterator[tuple[Table, "Column[bytes]"]]:
    """Yield each column with sealed values."""
    for table in metadata.sorted_tables:
        for column in table.columns:
            if column.info.get("sealed"):
                yield table, column


def _rows(
    connection: Connection, table: Table, column: "Column[bytes]"
) -> Iterator[Mapping[str, Any]]:
    context = [each for each in table.columns if not each.info.get("sealed")]
    query = select(*context, column).where(column.is_not(None))
    streamed = connection.execution_options(yield_per=_AT_ONCE).execute(query)
    for row in streamed.mappings():
        yield {key: row[key] for key in row}
