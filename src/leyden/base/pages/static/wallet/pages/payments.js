/**
 * Payments: all that moved money, in one list; read once, and again when somebody asks.
 * The newest are shown as soon as lnd told some of each kind, while it is asked for the rest.
 */

import { confirmed, forget } from "../acting.js";
import { chosen, csv, merged, read } from "../history.js";
import { whileOpen } from "../open_vault.js";
import { $, lnd, onClick, onSubmit, progress, show } from "../page.js";
import { fillIn, plural, sats, signed, typedSats, when } from "../shown.js";
import { Trouble } from "../trouble.js";

const DAY = 86_400;
const AT_A_TIME = 50;
const CALLS = ["/walletrpc.WalletKit/BumpFee"];
const CHILD_VBYTES = 111; // one input and one output, both taproot
const LISTS = 4;
const DRAW_MS = 1_000; // at least, between two drawings of lists that grow
const PATIENCE_MS = 120_000; // for thousands of rows, which lnd reads from its disk
const KINDS = { received: "Received", sent: "Sent", "on-chain": "On-chain", forwarded: "Forwarded" };
const STATES = { waiting: "unpaid" };
let rows = [];
let found = [];
let page = 0;
let of; // the transaction whose fee is asked about
let reading; // {isWhole, isShown}, of the lists that are shown

function draw(lists) {
  reading.isShown = true; // before, it may have been locked meanwhile
  rows = merged(lists, Date.now() / 1000);
  choose();
}

function choose() {
  const [kind, state, text] = ["kind", "state", "text"].map((id) => $(id).value);
  found = chosen(rows, { kind, state, text });
  list();
}

function search() {
  page = 0;
  choose();
}

function list() {
  page = Math.min(page, Math.max(0, Math.ceil(found.length / AT_A_TIME) - 1));
  const first = page * AT_A_TIME;
  $("rows").replaceChildren(...found.slice(first, first + AT_A_TIME).map(row));
  $("none").hidden = rows.length > 0;
  $("list").hidden = rows.length === 0;
  const last = Math.min(found.length, first + AT_A_TIME);
  $("count").textContent = found.length
    ? `${(first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${plural(found.length, "payment")}${reading?.isWhole ? "" : " so far"}`
    : "Nothing found: choose another period or filter.";
  $("export").hidden = !reading?.isWhole;
  $("newer").hidden = page === 0;
  $("older").hidden = last === found.length;
}

function row({ time, kind, state, amount, fee, about, peer, id, output }) {
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
  const button = made.querySelector("[data-bump]");
  if (kind === "on-chain" && state === "pending" && output !== undefined) {
    button.setAttribute("aria-label", `Raise fee of ${id.slice(0, 16)}`);
    button.addEventListener("click", () => askBump({ id, output }));
  } else button.remove();
  return made;
}

function askBump(transaction) {
  of = transaction;
  $("bump-of").textContent = transaction.id;
  $("bump-rate").value = "";
  show("bump");
}

onSubmit($("bump"), async () => {
  const { id, output } = of;
  const rate = typedSats($("bump-rate").value);
  if (!rate) throw new Trouble("form", "Fee rate: must be a whole number of sat/vB. The fee did not change.");
  const fee = rate * CHILD_VBYTES;
  const may = await confirmed({
    calls: CALLS,
    title: "Raise the fee?",
    lines: [`Of ${id.slice(0, 16)}…: a second transaction of the node pays for both.`, `It pays ${rate} sat/vB: ${sats(fee)}.`],
    button: "Raise fee",
  });
  if (may === undefined) return;
  progress("Raising the fee…");
  try {
    await lnd.call("POST", "/v2/wallet/bumpfee", {
      outpoint: { txid_str: id, output_index: Number(output) },
      // Just before its deadline lnd pays its whole budget at once. Without one, it would
      // pay more with each block, up to half of the output.
      budget: String(fee),
      deadline_delta: 1,
      immediate: true,
    }, may);
  } catch (error) {
    throw new Trouble("refused", error.said === undefined
      ? "The answer was lost. The fee may have been raised: it is safe to raise it again, which replaces that."
      : `${error.message} The fee did not change.`);
  }
  $("said").textContent = `The fee was raised by ${sats(fee)}, in a second transaction.`;
  $("said").hidden = false;
  show("open");
  await again().catch(() => {}); // it was raised, whatever becomes of the list
});
onClick("cancel-bump", async () => show("open"));

const since = () => {
  const days = Number($("period").value);
  return days ? Math.floor(Date.now() / 1000) - days * DAY : 0;
};

/** Give the newest of each kind, and show the rest as it comes. */
function readNewest(looks) {
  const mine = { isWhole: false };
  const told = new Set();
  let drawn = 0;
  reading = mine;
  page = 0;
  $("partial").hidden = true;
  const call = (method, path, body) => lnd.call(method, path, body, looks, PATIENCE_MS);
  return new Promise((resolve, reject) => {
    read(call, since(), (lists, name) => {
      told.add(name);
      const count = Object.values(lists).reduce((sum, each) => sum + each.length, 0);
      if (drawn === 0) progress(`Reading ${plural(count, "payment")}…`);
      if (told.size < LISTS || Date.now() - drawn < DRAW_MS) return;
      if (reading === mine && mine.isShown) draw(lists);
      drawn = Date.now();
      resolve(lists);
    }).then((lists) => {
      mine.isWhole = true;
      resolve(lists);
      if (reading === mine && mine.isShown) draw(lists);
    }, (error) => {
      if (reading === mine && mine.isShown) {
        $("partial").textContent = `Older payments could not be read: ${error.message} Refresh to try again.`;
        $("partial").hidden = false;
      }
      reject(error);
    });
  });
}

for (const id of ["kind", "state"]) $(id).addEventListener("change", search);
$("text").addEventListener("input", search);

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
  forget();
  of = undefined;
  $("said").hidden = true;
  rows = found = [];
  reading = undefined;
  $("partial").hidden = true;
}

const again = await whileOpen({ read: readNewest, draw, clear, asksAgain: false });
onClick("refresh", again);
$("period").addEventListener("change", () => $("refresh").click());
