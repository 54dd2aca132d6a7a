"""What moved money, as one list: in sats with signs, found again, and as CSV."""

from typing import Any

import pytest

from tests.nodes.pages.wallet.conftest import Modular

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOW = 1_772_366_400
LISTS: dict[str, list[dict[str, Any]]] = {
    "invoices": [
        {
            "creation_date": str(NOW - 90),
            "settle_date": str(NOW - 60),
            "expiry": "3600",
            "state": "SETTLED",
            "value_msat": "21000000",
            "amt_paid_msat": "21000000",
            "memo": '=HYPERLINK("x"), two lamps',
            "hash": "5a" * 32,
        },
        {
            "creation_date": str(NOW - 7200),
            "settle_date": "0",
            "expiry": "3600",
            "state": "OPEN",
            "value_msat": "1000",
            "amt_paid_msat": "0",
            "memo": "",
            "hash": "5b" * 32,
        },
    ],
    "payments": [
        {
            "creation_time_ns": str((NOW - 30) * 10**9),
            "status": "SUCCEEDED",
            "value_msat": "1500",
            "fee_msat": "1",
            "payment_hash": "6a" * 32,
            "htlcs": [
                {"status": "SUCCEEDED", "route": {"hops": [{"pub_key": "02ab"}]}}
            ],
        },
    ],
    "transactions": [
        {
            "time_stamp": str(NOW - 10),
            "amount": "-30154",
            "total_fees": "154",
            "num_confirmations": 0,
            "label": "0:openchannel:shortchanid-1",
            "tx_hash": "7e" * 32,
        },
        {
            "time_stamp": str(NOW - 20),
            "amount": "50000",
            "total_fees": "0",
            "num_confirmations": 3,
            "label": "",
            "tx_hash": "7f" * 32,
        },
    ],
    "forwards": [
        {
            "timestamp_ns": str((NOW - 5) * 10**9),
            "fee_msat": "2500",
            "amt_out": "9000",
            "chan_id_in": "1",
            "chan_id_out": "2",
            "peer_alias_in": "pier",
            "peer_alias_out": "mole",
        },
    ],
}


async def test_it_is_one_list_with_the_newest_first(js: Modular) -> None:
    rows = await js.call("history", "merged", LISTS, NOW)
    shown = [
        (each["kind"], each["state"], each["amount"], each["fee"]) for each in rows
    ]
    assert shown == [
        ("forwarded", "paid", 2.5, 0),
        ("on-chain", "pending", -30_000, -154),
        ("on-chain", "paid", 50_000, 0),
        ("sent", "paid", -1.5, -0.001),
        ("received", "paid", 21_000, 0),
        ("received", "expired", 1, 0),
    ]
    assert rows[1]["about"] == "openchannel"
    assert rows[3]["peer"] == "02ab"


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        ({"kind": "on-chain"}, ["7e", "7f"]),
        ({"state": "expired"}, ["5b"]),
        ({"text": "TWO LAMPS"}, ["5a"]),
        ({"text": "21,000"}, ["5a"]),
        ({"text": "6a6a"}, ["6a"]),
        ({"kind": "sent", "text": "lamps"}, []),
    ],
)
async def test_it_is_found(js: Modular, chosen: dict[str, str], ids: list[str]) -> None:
    rows = await js.call("history", "merged", LISTS, NOW)
    found = await js.call("history", "chosen", rows, chosen)
    assert [each["id"][:2] for each in found] == ids


async def test_a_memo_is_no_formula_in_a_spreadsheet(js: Modular) -> None:
    rows = await js.call("history", "merged", LISTS, NOW)
    lines = (await js.call("history", "csv", rows)).split("\r\n")
    assert lines[0] == "time,type,state,amount_sat,fee_sat,description,peer,id"
    assert lines[4].startswith("2026-03-01T11:59:30.000Z,sent,paid,-1.5,-0.001,")
    assert lines[5].split(",", 5)[5] == (
        f'"\'=HYPERLINK(""x""), two lamps",,{"5a" * 32}'
    )
    assert len(lines) == 8


async def test_lists_of_any_length_are_read_in_pages(js: Modular) -> None:
    counted = await js.run(
        """async (modules, total) => {
            const { merged, read } = await modules("history");
            const calls = [];
            const call = async (method, path, body) => {
                calls.push(path);
                if (path.startsWith("/v1/payments")) return { payments: [] };
                if (path === "/v1/transactions") return { transactions: [] };
                if (path === "/v1/switch") return { forwarding_events: [] };
                const [wanted, offset] = ["num_max_invoices", "index_offset"].map(
                    (name) => Number(new URLSearchParams(path.split("?")[1]).get(name)),
                );
                const end = offset || total;
                const size = Math.min(wanted, end);
                const invoices = Array.from({ length: size }, (_, at) => ({
                    creation_date: String(end - size + at), expiry: "1", state: "OPEN",
                    value_msat: "1000", memo: "", r_hash: "Wlo=", is_keysend: false,
                }));
                return { invoices, first_index_offset: String(end - size) };
            };
            let newest;
            const heard = ({ invoices }) => {
                newest ??= invoices.at(-1)?.creation_date;
            };
            const rows = merged(await read(call, 0, heard), 1e9);
            return [rows.length, rows[0].time, calls.length, newest];
        }""",
        100_000,
    )
    assert counted == [100_000, 99_999, 24, "99999"]


async def test_times_are_in_the_zone_that_the_reader_chose(js: Modular) -> None:
    zones = await js.run(
        """async (modules, at) => {
            const { when } = await modules("shown");
            const { dataset } = document.documentElement;
            const shown = [];
            for (const zone of ["Asia/Tokyo", "America/Lima"]) {
                dataset.timeZone = zone;
                shown.push(when(at));
            }
            delete dataset.timeZone;
            return shown;
        }""",
        1_772_366_400,  # noon in UTC
    )
    tokyo, lima = zones
    assert "9:00" in tokyo
    assert "7:00" in lima
