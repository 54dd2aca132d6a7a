/**
 * What moved money at a node, as one list: {time, kind, state, amount, fee, about, peer, id}.
 * Amounts and fees are in sats, with what left as less than zero.
 */

import { fromBase64, toHex } from "./bytes.js";
import { hasAlias, sats } from "./shown.js";

const KEYSEND = "Keysend"; // has no description

const INVOICES = { SETTLED: "paid", OPEN: "waiting", ACCEPTED: "waiting", CANCELED: "expired" };
const PAYMENTS = { SUCCEEDED: "paid", FAILED: "failed", IN_FLIGHT: "pending", INITIATED: "pending" };

const ofInvoice = (invoice, now) => {
  const isOver = Number(invoice.creation_date) + Number(invoice.expiry) < now;
  const state = invoice.state === "OPEN" && isOver ? "expired" : INVOICES[invoice.state];
  return {
    time: Number(invoice.state === "SETTLED" ? invoice.settle_date : invoice.creation_date),
    kind: "received",
    state,
    amount: Number(state === "paid" ? invoice.amt_paid_msat : invoice.value_msat) / 1000,
    fee: 0,
    about: invoice.memo || (invoice.is_keysend ? KEYSEND : ""),
    peer: "",
    id: invoice.hash,
  };
};

const ofPayment = (payment) => {
  const { route } = payment.htlcs?.find(({ status }) => status === "SUCCEEDED") ?? payment.htlcs?.[0] ?? {};
  return {
    time: Math.floor(Number(payment.creation_time_ns) / 1e9),
    kind: "sent",
    state: PAYMENTS[payment.status] ?? "pending",
    amount: -Number(payment.value_msat) / 1000,
    fee: -Number(payment.fee_msat) / 1000,
    about: "",
    peer: route?.hops?.at(-1)?.pub_key ?? "",
    id: payment.payment_hash,
  };
};

/** lnd's amounts of what was sent have the fee in them. */
const ofTransaction = (transaction) => {
  const fee = Number(transaction.amount) < 0 ? Number(transaction.total_fees) : 0;
  return {
    time: Number(transaction.time_stamp),
    kind: "on-chain",
    state: transaction.num_confirmations > 0 ? "paid" : "pending",
    amount: Number(transaction.amount) + fee,
    fee: 0 - fee,
    // lnd's own, 0:openchannel:shortchanid-…; those of the page that sends say nothing.
    about: transaction.label.replace(/^0:(\w+).*$/, "$1").replace(/^dashboard [0-9a-f]{16}$/, ""),
    peer: "",
    id: transaction.tx_hash,
  };
};

const end = (alias, channel) => (hasAlias(alias) ? alias : channel);

const ofForward = (event) => ({
  time: Math.floor(Number(event.timestamp_ns) / 1e9),
  kind: "forwarded",
  state: "paid",
  amount: Number(event.fee_msat) / 1000,
  fee: 0,
  about: `${sats(event.amt_out)} from ${end(event.peer_alias_in, event.chan_id_in)} to ${end(event.peer_alias_out, event.chan_id_out)}`,
  peer: "",
  id: `${event.chan_id_in}:${event.incoming_htlc_id ?? ""}`,
});

/** Make one list of lnd's four, newest first. */
export function merged({ invoices = [], payments = [], transactions = [], forwards = [] }, now) {
  return [
    ...invoices.map((each) => ofInvoice(each, now)),
    ...payments.map(ofPayment),
    ...transactions.map(ofTransaction),
    ...forwards.map(ofForward),
  ].sort((one, other) => other.time - one.time);
}

/** Choose the rows of a kind and a state in which a text is found. */
export function chosen(rows, { kind = "", state = "", text = "" }) {
  const words = text.trim().toLowerCase();
  const number = words.replaceAll(/[,\s]/g, "");
  return rows.filter((row) =>
    (!kind || row.kind === kind)
    && (!state || row.state === state)
    && (!words
      || row.about.toLowerCase().includes(words)
      || row.id.includes(words)
      || row.peer.includes(words)
      || String(Math.abs(row.amount)) === number));
}

const COLUMNS = ["time", "type", "state", "amount_sat", "fee_sat", "description", "peer", "id"];

/** Write rows as CSV. Spreadsheets run what begins as a formula does: others write memos. */
export function csv(rows) {
  const cell = (text) => {
    const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
  };
  const lines = rows.map((row) => [
    new Date(row.time * 1000).toISOString(), row.kind, row.state, String(row.amount),
    String(row.fee), cell(row.about), row.peer, cell(row.id),
  ].join(","));
  return `${[COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}

const AT_A_TIME = 5_000;

/** Read lnd's lists since a time, some thousands at a time; `progress` is told how many. */
export async function read(call, since, progress = () => {}) {
  const ask = (path) => call("GET", path);
  let count = 0;
  const all = async (page) => {
    const found = [];
    for (let offset = 0; ;) {
      const { rows, next } = await page(offset);
      for (const row of rows) found.push(row);
      progress(count += rows.length);
      if (rows.length < AT_A_TIME) return found;
      offset = next;
    }
  };
  const [invoices, payments, forwards, { transactions }] = await Promise.all([
    all(async (offset) => {
      const told = await ask(`/v1/invoices?num_max_invoices=${AT_A_TIME}&index_offset=${offset}&creation_date_start=${since}`);
      return { rows: told.invoices, next: told.last_index_offset };
    }),
    all(async (offset) => {
      const told = await ask(`/v1/payments?include_incomplete=true&max_payments=${AT_A_TIME}&index_offset=${offset}&creation_date_start=${since}`);
      return { rows: told.payments, next: told.last_index_offset };
    }),
    all(async (offset) => {
      const wish = { start_time: String(since), index_offset: offset, num_max_events: AT_A_TIME, peer_alias_lookup: true };
      const told = await call("POST", "/v1/switch", wish);
      return { rows: told.forwarding_events, next: told.last_offset_index };
    }),
    ask("/v1/transactions"),
  ]);
  for (const invoice of invoices) invoice.hash = toHex(fromBase64(invoice.r_hash));
  return {
    invoices, payments, forwards,
    transactions: transactions.filter((each) => Number(each.time_stamp) >= since),
  };
}
