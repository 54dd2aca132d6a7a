/** Payments: all that moved money, in one list; read once, and again when somebody asks. */

import { chosen, csv, merged, read } from "../history.js";
import { whileOpen } from "../open_vault.js";
import { $, lnd, onClick, progress } from "../page.js";
import { fillIn, plural, sats, signed, when } from "../shown.js";

const DAY = 86_400;
const AT_A_TIME = 50;
const PATIENCE_MS = 120_000; // for thousands of rows, which lnd reads from its disk
const KINDS = { received: "Received", sent: "Sent", "on-chain": "On-chain", forwarded: "Forwarded" };
const STATES = { waiting: "unpaid" };
let rows = [];
let found = [];
let page = 0;

function draw(lists) {
  rows = merged(lists, Date.now() / 1000);
  choose();
}

function choose() {
  const [kind, state, text] = ["kind", "state", "text"].map((id) => $(id).value);
  found = chosen(rows, { kind, state, text });
  page = 0;
  list();
}

function list() {
  const first = page * AT_A_TIME;
  $("rows").replaceChildren(...found.slice(first, first + AT_A_TIME).map(row));
  $("none").hidden = rows.length > 0;
  $("list").hidden = rows.length === 0;
  const last = Math.min(found.length, first + AT_A_TIME);
  $("count").textContent = found.length
    ? `${(first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${plural(found.length, "payment")}`
    : "Nothing found: choose another period or filter.";
  $("newer").hidden = page === 0;
  $("older").hidden = last === found.length;
}

function row({ time, kind, state, amount, fee, about, peer, id }) {
  const made = fillIn($("row").content.cloneNode(true), {
    when: when(time),
    kind: KINDS[kind],
    about: about || (peer ? `To ${peer.slice(0, 16)}…` : "No description"),
    id: id.length > 24 ? `${id.slice(0, 16)}…` : id,
    amount: signed(amount),
    fee: fee ? sats(Math.abs(fee)) : "",
    state: STATES[state] ?? state,
  });
  made.querySelector("[data-id]").title = id;
  made.querySelector("[data-state]").classList.add(`state-${state}`);
  return made;
}

const since = () => {
  const days = Number($("period").value);
  return days ? Math.floor(Date.now() / 1000) - days * DAY : 0;
};

const readAll = (looks) => read(
  (method, path, body) => lnd.call(method, path, body, looks, PATIENCE_MS),
  since(),
  (count) => progress(`Reading ${plural(count, "payment")}…`),
);

for (const id of ["kind", "state"]) $(id).addEventListener("change", choose);
$("text").addEventListener("input", choose);

onClick("newer", async () => {
  page -= 1;
  list();
});
onClick("older", async () => {
  page += 1;
  list();
});

onClick("export", async () => {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([csv(found)], { type: "text/csv" }));
  link.href = url;
  link.download = "payments.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // once the browser has read it
});

function clear() {
  rows = found = [];
}

const again = await whileOpen({ read: readAll, draw, clear, asksAgain: false });
onClick("refresh", again);
$("period").addEventListener("change", () => $("refresh").click());
