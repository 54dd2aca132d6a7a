from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import alembic.command
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from leyden.base.database import schema, schema_check
from leyden.base.database.every_table import metadata
from leyden.channels.rules.orders import OrderStatus
from leyden.errors import SetupError

_NODE = """
INSERT INTO node (id, organization_id, name, network, type, version, api_endpoint, slot,
    created, status, wanted, revision, process, launched, host, crashes, due,
    purchased_type, purchase_status, edition, settings)
VALUES ('{id}', 'o', '{id}', 'testnet', 'standard', '1', '{id}', {slot}, 0, 'stopped',
    '{wanted}', 0, '', 0, '', 0, 0, 'paid', 'active', 0, '')
"""

_ORDER = """
INSERT INTO channel_order (id, organization_id, status, created, expires, capacity,
    self_chan_balance, lease_duration_blocks, node_tier, rate_bps, rate_fixed,
    service_fee, pool_fee, self_chan_balance_fee, credit_used, charged, credit_refund,
    accepted, offered, order_nonce)
VALUES ('{status}', 'o', '{status}', 0, 0, 100000, 0, 2016, 'best', 50, 2480, 1100,
    5733, 0, 0, 0, 0, 0, 0, '')
"""


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Each test has its own: tables are changed here."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def test_the_migrations_make_exactly_the_tables(database_url: str) -> None:
    with schema.connected(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_second_run_finds_nothing_to_do(database_url: str) -> None:
    assert schema.migrate(database_url) == schema.migrate(database_url)
    schema.check(database_url)
    schema_check.check(database_url)


def test_an_older_program_runs_on_a_newer_schema_that_has_all_it_knows(
    database_url: str,
) -> None:
    """A replica that dies in the middle of an upgrade comes back."""
    with schema.connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    schema_check.check(database_url)
    schema.check(database_url)
    assert schema.migrate(database_url) == "9999"


@pytest.mark.parametrize(
    "change",
    ["UPDATE schema_floor SET oldest = '9998'", "DROP TABLE schema_floor"],
)
def test_an_older_program_refuses_a_newer_schema_that_is_not_for_it(
    database_url: str, change: str
) -> None:
    with schema.connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        connection.execute(text(change))
    for use in (schema_check.check, schema.check, schema.migrate):
        with pytest.raises(SetupError, match="schema 9999, which this version"):
            use(database_url)


def test_an_empty_database_has_to_be_migrated_first(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"nothing is installed in .*new\.db: `leyden"):
        schema_check.check(f"sqlite:///{tmp_path}/new.db")
    assert not (tmp_path / "new.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(SetupError, match="nothing is installed in this database"):
        schema_check.check(f"sqlite:///{tmp_path}/empty.db")


def test_an_older_schema_has_to_be_migrated_first(database_url: str) -> None:
    with schema.connected(database_url) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with pytest.raises(SetupError, match="older schema; run `leyden migrate` first"):
        schema_check.check(database_url)


def test_a_database_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"^database_url: can't open the database"):
        schema_check.check("postgresql://nobody@127.0.0.1:1/none")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(SetupError, match=r"^database_url: can't open the database"):
        schema_check.check(f"sqlite:///{tmp_path}/folder.db")


@contextmanager
def upgraded(
    database_url: str, ours: str, lines: Iterable[str]
) -> Iterator[Connection]:
    """Undo and fill what a migration finds, by these statements; then run it."""
    with schema._config() as config, schema.connected(database_url) as connection:
        before = ScriptDirectory.from_config(config).get_revision(ours).down_revision
        for statement in lines:
            connection.execute(text(statement))
        stamp = text("UPDATE alembic_version SET version_num = :before")
        connection.execute(stamp, {"before": before})
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, ours)
        yield connection


def test_nodes_from_before_have_their_logs_read_from_the_end(
    database_url: str,
) -> None:
    """What is in them was told, or is long ago."""
    ours = "0012_log_places"
    existing = (
        "DROP TABLE node_log_place",
        "INSERT INTO organization (id, name, created) VALUES ('o', 'o', 0)",
        _NODE.format(id="there", wanted="running", slot=7),
        _NODE.format(id="gone", wanted="deleted", slot="NULL"),
    )
    with upgraded(database_url, ours, existing) as connection:
        positions = connection.execute(text("SELECT * FROM node_log_place")).all()
    assert [tuple(each) for each in positions] == [("there", 0, -1, b"", 0, 1)]


def test_orders_filled_before_keep_what_the_auction_left_and_open_ones_do_not(
    database_url: str,
) -> None:
    """Nothing is paid back for what was booked long ago."""
    ours = "0016_unused_fees"
    existing = (
        "ALTER TABLE channel_order DROP COLUMN keeps_unused_fee",
        "ALTER TABLE quote DROP COLUMN keeps_unused_fee",
        "ALTER TABLE lease DROP COLUMN node",
        "ALTER TABLE lease DROP COLUMN peer",
        "ALTER TABLE lease DROP COLUMN height",
        "INSERT INTO organization (id, name, created) VALUES ('o', 'o', 0)",
        *(_ORDER.format(status=status) for status in OrderStatus),
    )
    with upgraded(database_url, ours, existing) as connection:
        stored = text("SELECT id FROM channel_order WHERE keeps_unused_fee = 1")
        found = connection.execute(stored).scalars().all()
    assert found == [OrderStatus.FILLED]


def test_orders_of_lsps1_from_before_are_opened_as_they_were_asked_for(
    database_url: str,
) -> None:
    """A wallet that wants its channel unconfirmed gets it so after the upgrade, too."""
    ours = "0044_lsps1_zero_conf"
    wished = (
        "INSERT INTO lsps1_order (order_id, source, address, confirmations, "
        "within_blocks, token) VALUES ('{status}', 'bolt8', '', {confirmations}, 6, '')"
    )
    existing = (
        "INSERT INTO organization (id, name, created) VALUES ('o', 'o', 0)",
        *(_ORDER.format(status=status) for status in OrderStatus),
        wished.format(status=OrderStatus.CREATING, confirmations=0),
        wished.format(status=OrderStatus.CREATED, confirmations=1),
    )
    with upgraded(database_url, ours, existing) as connection:
        stored = text("SELECT id FROM channel_order WHERE zero_conf = 1")
        assert connection.execute(stored).scalars().all() == [OrderStatus.CREATING]
