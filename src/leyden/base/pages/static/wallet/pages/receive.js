/** Receive: an invoice or an address of this node's own, and whether it was paid. */

import { fromBase64, toHex } from "../bytes.js";
import { bip21, shell } from "../destination.js";
import { openingFee } from "../just_in_time.js";
import { ask, macaroon, whileOpen } from "../open_vault.js";
import { $, lnd, node, onClick, onSubmit, progress } from "../page.js";
import { draw as drawCode } from "../qr.js";
import { sats, span, typedSats, when } from "../shown.js";
import { Trouble } from "../trouble.js";

const LOOK_MS = 2_000;
const CONFIRMATIONS = 3; // as wallets count on a payment
let receivable = 0;
let shown; // {hash, address, expires}, while it is waited for

onSubmit($("request"), async () => {
  const way = $("way").value;
  const typed = $("amount").value.trim();
  const amount = typed === "" ? 0 : typedSats(typed);
  if (amount === undefined) throw new Trouble("form", "Amount: must be a whole number of sats.");
  const memo = $("memo").value.trim();
  progress("Asking the node…");
  const made = way === "on-chain" ? undefined : await lnd.call("POST", "/v1/invoices", {
    ...(amount && { value: String(amount) }),
    memo,
    expiry: $("expiry").value,
    private: $("hints").checked,
  }, macaroon());
  const address = way === "lightning"
    ? undefined
    : (await ask("/v1/newaddress?type=TAPROOT_PUBKEY")).address;
  waitFor({ amount, memo, address, made });
});

/** Offer a channel that the payment opens, for an amount that no channel can receive. */
function offerOpening() {
  if (!$("just-in-time")) return; // this platform sells none
  const amount = typedSats($("amount").value.trim()) ?? 0;
  $("just-in-time").hidden = $("way").value === "on-chain" || (amount <= receivable && receivable > 0);
}

/** Show what was offered, or hide it: it was of another amount. */
function showOpening(isOffered) {
  if (!$("just-in-time")) return;
  $("opening-offer").hidden = !isOffered;
  $("opening-ask").hidden = isOffered;
}

if ($("opening-ask")) {
  onClick("opening-ask", async () => {
    const amount = typedSats($("amount").value.trim());
    if (!amount) throw new Trouble("form", "Amount: must be a whole number of sats, which the payer pays.");
    progress("Asking for the fee…");
    const { identity_pubkey: key } = await ask("/v1/getinfo");
    const fee = await openingFee(amount, key);
    if (typedSats($("amount").value.trim()) !== amount) return; // another was typed meanwhile
    if (!fee) throw new Trouble("form", "This node can receive that over a channel that it has: create an invoice.");
    if (fee >= amount) {
      throw new Trouble("form", `The fee is ${sats(fee)}, which leaves nothing of ${sats(amount)}. Ask for more.`);
    }
    $("opening-paid").textContent = sats(amount);
    $("opening-fee").textContent = sats(fee);
    $("opening-received").textContent = sats(amount - fee);
    if ($("opening-command")) $("opening-command").textContent = commandFor(amount);
    showOpening(true);
  });
}

function commandFor(amount) {
  const memo = $("memo").value.trim();
  const words = ["leyden", "wallet", "receive", node, String(amount), "--just-in-time"];
  return [...words, ...(memo ? ["--memo", shell(memo)] : [])].join(" ");
}

function waitFor({ amount, memo, address, made }) {
  const invoice = made?.payment_request;
  const link = address === undefined
    ? `lightning:${invoice}`
    : bip21({ address, sats: amount, message: memo, invoice });
  shown = {
    hash: made && toHex(fromBase64(made.r_hash)),
    address,
    expires: made && Date.now() / 1000 + Number($("expiry").value),
  };
  $("due").textContent = amount ? sats(amount) : "Any amount";
  $("memo-shown").textContent = memo;
  drawCode($("request-code"), link);
  $("open-wallet").href = link;
  for (const [id, text] of [["invoice", invoice], ["address", address], ["uri", address && invoice && link]]) {
    $(`${id}-shown`).hidden = !text;
    $(id).textContent = text ?? "";
  }
  $("too-much").hidden = !made || amount <= receivable;
  $("receivable").textContent = sats(receivable);
  $("waiting").hidden = false;
  $("paid").hidden = true;
  $("request").hidden = true;
  $("requested").hidden = false;
  $("due").focus();
  look(shown);
}

/** Ask whether it was paid, again and again while somebody looks. */
async function look(mine) {
  while (shown === mine) {
    if (!document.hidden) {
      try {
        if (await isPaid(mine)) return;
      } catch (error) {
        if (error.kind !== "unreachable") return; // it was locked
        $("waiting").textContent = "Your browser can't reach the node. Payments arrive all the same.";
      }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

async function isPaid(mine) {
  const invoice = mine.hash && (await ask(`/v1/invoice/${mine.hash}`));
  const coins = mine.address && (await arrived(mine.address));
  if (shown !== mine) return true;
  if (invoice?.state === "SETTLED") {
    return done(`Paid: ${sats(Number(invoice.amt_paid_msat) / 1000)} at ${when(invoice.settle_date)}`);
  }
  if (coins && coins.confirmations >= CONFIRMATIONS) return done(`Paid: ${sats(coins.amount)} on-chain`);
  const left = mine.expires && mine.expires - Date.now() / 1000;
  $("waiting").textContent = coins
    ? `Seen on-chain: ${sats(coins.amount)}, ${coins.confirmations} of ${CONFIRMATIONS} confirmations`
    : invoice?.state === "ACCEPTED"
      ? "The payment is arriving…"
      : invoice && (left <= 0 || invoice.state === "CANCELED")
        ? `The invoice has expired unpaid.${mine.address ? " The address stays yours." : " Create a new one."}`
        : `Waiting for the payment.${invoice ? ` The invoice expires in ${span(left)}.` : ""}`;
  return Boolean(invoice && invoice.state !== "ACCEPTED" && !mine.address && left <= 0);
}

/** Add up what arrived at an address of ours. */
async function arrived(address) {
  const { transactions } = await ask("/v1/transactions");
  const found = transactions.filter(({ output_details: outputs }) =>
    outputs.some((output) => output.address === address));
  if (!found.length) return undefined;
  const amounts = found.flatMap(({ output_details: outputs }) => outputs)
    .filter((output) => output.address === address);
  return {
    amount: amounts.reduce((all, { amount }) => all + Number(amount), 0),
    confirmations: Math.min(...found.map((each) => each.num_confirmations)),
  };
}

function done(words) {
  shown = undefined;
  $("waiting").hidden = true;
  $("paid-words").textContent = words;
  $("paid").hidden = false;
  return true;
}

function again() {
  shown = undefined;
  showOpening(false);
  $("requested").hidden = true;
  $("request").hidden = false;
}

onClick("another", async () => {
  again();
  $("amount").focus();
});

$("way").addEventListener("change", () => {
  for (const part of document.querySelectorAll("[data-lightning]")) {
    part.hidden = $("way").value === "on-chain";
  }
  offerOpening();
});
for (const id of ["amount", "memo"]) {
  $(id).addEventListener("input", () => {
    showOpening(false);
    offerOpening();
  });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && shown) isPaid(shown).catch(() => {});
});

function draw(channels) {
  const active = channels.filter(({ state }) => state === "active").map(({ channel }) => channel);
  // What the peer has to keep is no one's to receive.
  receivable = active.reduce((all, channel) => all
    + Math.max(0, Number(channel.remote_balance) - Number(channel.remote_chan_reserve_sat ?? 0)), 0);
  $("can-receive").textContent = sats(receivable);
  $("no-inbound").hidden = receivable > 0;
  offerOpening();
}

await whileOpen({ read: (looks) => lnd.channels(looks), draw, clear: again });
