/**
 * Send: what was pasted is decoded, checked and confirmed before anything is paid.
 *
 * No payment is made twice. lnd makes one for each payment hash, and is asked about it
 * first; a transaction has a label of its own, by which it is found when an answer is lost.
 */

import { confirmed, forget } from "../acting.js";
import { fromHex, random, toBase64, toHex } from "../bytes.js";
import { destination, shell } from "../destination.js";
import { ask, whileOpen } from "../open_vault.js";
import { $, lnd, node as nodeId, onClick, onSubmit, progress, show } from "../page.js";
import { followed, GRACE_S, reasonOf, stopWatching, tracked } from "../paying.js";
import { onScan, stopScanning } from "../scanning.js";
import { peerName, sats, typedSats, when } from "../shown.js";
import { Trouble } from "../trouble.js";

const CALLS = ["/routerrpc.Router/SendPaymentV2", "/lnrpc.Lightning/SendCoins"];
const AGAIN_MS = 2_000;
const BLOCKS = 6; // of an hour
const GONE_COINS = 10; // so often lnd lists no transaction, which takes it some seconds
const SEND_MS = 90_000; // for a transaction, which lnd makes and publishes
const PARTS = 16; // lncli's own
const NOTHING = "Nothing was sent.";
// lnd's own words about money, and what they mean; the first that matches.
const MEANINGS = [
  [/not for current active network/i, "This invoice is for another network than this node's."],
  [/address is not for|not valid for this network|unknown address type|decode.*address|unknown format|unknown size|bech32|base58|checksum|invalid index|invalid character/i,
    "This is not an invoice or address of this node's network, or a character of it is wrong."],
  [/invoice expired/i, "This invoice has expired. Ask for a new one."],
  [/insufficient funds|insufficient.*available|not enough/i, "The node has not enough confirmed coins for this amount and its fee."],
  [/dust/i, "The amount is too small to be sent on-chain."],
  [/reserved wallet balance/i, "lnd keeps some coins back so that it can close channels. Send less."],
  [/self-payments not allowed/i, "This invoice is of this node itself."],
];
let node; // {key, channels, coins}
let planned; // what is reviewed: {invoice, hash, …} or {address, …}
let isSending = false; // coins
let unknown; // the hash or label of a payment of which nobody could say what became of it

const meaningOf = (error) => MEANINGS.find(([words]) => words.test(error.said ?? ""))?.[1];

/** Say of what went wrong before anything was sent what it means, and that nothing was. */
function refused(error) {
  const isOurs = error.kind === "form" && error.said === undefined;
  if (isOurs || !(error instanceof Trouble)) return error;
  const kind = error.kind === "unreachable" ? error.kind : "refused";
  const nothing = unknown === undefined ? NOTHING : "Nothing more was sent.";
  return new Trouble(kind, `${meaningOf(error) ?? error.message} ${nothing}`);
}

onSubmit($("ask"), async () => {
  $("by-command").hidden = true;
  const found = destination($("to").value);
  if (found.lnurl) {
    $("send-command").textContent = `leyden wallet send ${nodeId} ${shell(found.lnurl)} SATS`;
    $("by-command").hidden = false;
    return;
  }
  progress("Asking the node…");
  try {
    planned = found.invoice ? await decoded(found) : await addressed(found);
  } catch (error) {
    throw refused(error);
  }
  if (planned) review();
});

onScan("scan-button", (text) => {
  $("to").value = text;
  $("ask").requestSubmit();
});

/** Read an invoice as lnd does; one that was paid, or is on its way, is not for review. */
async function decoded({ invoice, address, message = "" }) {
  const read = await ask(`/v1/payreq/${invoice}`);
  const hash = read.payment_hash;
  const before = await tracked(hash);
  if (before?.status === "SUCCEEDED") {
    throw new Trouble("form", `This node has already paid this invoice: ${sats(Number(before.value_msat) / 1000)} and ${sats(Number(before.fee_msat) / 1000)} of fees, ${when(Number(before.creation_time_ns) / 1e9)}. ${NOTHING.replace(".", " again.")}`);
  }
  if (before && before.status !== "FAILED") {
    watch(hash, { known: before, seconds: 0 });
    return undefined;
  }
  if (read.destination === node.key) {
    throw new Trouble("form", `This invoice is of this node itself. ${NOTHING}`);
  }
  const expires = Number(read.timestamp) + Number(read.expiry);
  if (expires < Date.now() / 1000) {
    throw new Trouble("form", `This invoice expired at ${when(expires)}. Ask for a new one. ${NOTHING}`);
  }
  const amount = Number(read.num_msat) / 1000;
  if (amount > sendable()) {
    throw new Trouble("form", `${sats(amount)} is more than this node can send over Lightning now: ${sats(sendable())}. ${NOTHING}`);
  }
  return {
    invoice, hash, expires, amount, address,
    about: read.description || message,
    to: read.destination,
    alias: await aliasOf(read.destination),
  };
}

async function aliasOf(key) {
  try {
    return (await ask(`/v1/graph/node/${key}`)).node.alias;
  } catch {
    return ""; // not in the graph, as with most wallets
  }
}

/** Have lnd look at an address. */
async function addressed({ address, sats: amount, message = "" }) {
  try {
    await ask(`/v1/transactions/fee?AddrToAmount[${address}]=${amount ?? 10_000}&target_conf=${BLOCKS}`);
  } catch (error) {
    if (!/insufficient/i.test(error.said ?? "")) throw error;
  }
  return { address, amount: amount ?? 0, about: message };
}

/** Add up what active channels can send: their peers' rules keep a reserve. */
const sendable = () => node.channels
  .filter(({ state }) => state === "active")
  .reduce((all, { channel }) => all
    + Math.max(0, Number(channel.local_balance) - Number(channel.local_chan_reserve_sat ?? 0)), 0);

function review() {
  const { invoice, address, amount, about, to, alias, expires } = planned;
  $("review").reset(); // nothing of what was reviewed before, as "all coins"
  $("review-to").textContent = invoice ? peerName(to, alias) : address;
  $("review-to").title = to ?? address;
  $("review-about").textContent = about || "none";
  $("review-expires").textContent = expires ? when(expires) : "";
  for (const part of document.querySelectorAll("[data-for]")) {
    part.hidden = part.dataset.for !== (invoice ? "lightning" : "on-chain");
  }
  $("how").textContent = invoice ? "Over Lightning" : "On-chain";
  $("on-chain-instead").hidden = !(invoice && address);
  $("amount").value = amount ? amount.toLocaleString("en", { maximumFractionDigits: 3 }) : "";
  $("amount").readOnly = Boolean(invoice && amount);
  $("fee-limit").value = amount ? String(feeLimit(amount)) : "";
  if (invoice) fillChannels();
  else suggestRate();
  show("review");
}

const feeLimit = (amount) => Math.max(10, Math.ceil(amount / 100));

function fillChannels() {
  const any = new Option("Any", "");
  $("outgoing").replaceChildren(any, ...node.channels
    .filter(({ state }) => state === "active")
    .map(({ channel }) => new Option(
      `${sats(channel.local_balance)}, ${peerName(channel.remote_pubkey, channel.peer_alias)}`,
      channel.chan_id,
    )));
}

/** Fill in lnd's estimate, which depends on no coins; without one, it has to be typed. */
async function suggestRate() {
  try {
    const { sat_per_kw: rate } = await ask(`/v2/wallet/estimatefee/${BLOCKS}`);
    $("rate").value ||= String(Math.max(1, Math.floor((Number(rate) * 4) / 1000))); // unless typed meanwhile
  } catch {
    // Paying says that it is missing.
  }
}

onClick("on-chain-instead", async () => {
  const { address, amount, about } = planned;
  planned = { address, amount: Math.ceil(amount), about };
  review();
});

onClick("back", async () => show("open"));
for (const id of ["another", "another-try"]) {
  onClick(id, async () => {
    stopWatching();
    $("to").value = "";
    show("open");
    $("to").focus();
  });
}

onSubmit($("review"), async () => {
  const isFixed = $("amount").readOnly;
  const isAll = !planned.invoice && $("all").checked;
  const amount = isFixed ? planned.amount : isAll ? node.coins : typedSats($("amount").value);
  if (!amount) throw new Trouble("form", `Amount: must be a whole number of sats. ${NOTHING}`);
  if (planned.invoice) await pay(amount);
  else await sendCoins(amount, isAll);
});

async function pay(amount) {
  const { invoice, hash, to, alias } = planned;
  const limit = $("fee-limit").value.trim() === "" ? feeLimit(amount) : typedSats($("fee-limit").value);
  const seconds = typedSats($("timeout").value);
  if (limit === undefined) throw new Trouble("form", `Fee limit: must be a whole number of sats. ${NOTHING}`);
  if (!(seconds >= 5 && seconds <= 3600)) throw new Trouble("form", `Timeout: must be 5 to 3,600 seconds. ${NOTHING}`);
  if (amount > sendable()) {
    throw new Trouble("form", `${sats(amount)} is more than this node can send over Lightning now: ${sats(sendable())}. ${NOTHING}`);
  }
  const lastHop = $("last-hop").value.trim();
  if (lastHop && !/^0[23][0-9a-f]{64}$/i.test(lastHop)) {
    throw new Trouble("form", `Last hop: must be a public key of 66 hex digits. ${NOTHING}`);
  }
  const may = await confirmed({
    calls: CALLS,
    title: `Pay ${sats(amount)}?`,
    lines: [`To ${peerName(to, alias)}`, `The fee is at most ${sats(limit)}.`, "You can't undo this."],
    button: `Pay ${sats(amount)}`,
  });
  if (may === undefined) return;
  progress("Asking the node…");
  let before; // by another tab, or long ago
  try {
    before = await tracked(hash);
  } catch (error) {
    throw refused(error);
  }
  if (before && before.status !== "FAILED") {
    watch(hash, { known: before, seconds });
    return;
  }
  const answers = lnd.stream("POST", "/v2/router/send", {
    payment_request: invoice,
    ...(!$("amount").readOnly && { amt: String(amount) }),
    fee_limit_sat: String(limit),
    timeout_seconds: seconds,
    max_parts: PARTS,
    ...($("outgoing").value && { outgoing_chan_ids: [$("outgoing").value] }),
    ...(lastHop && { last_hop_pubkey: toBase64(fromHex(lastHop)) }),
  }, may, AbortSignal.timeout((seconds + GRACE_S) * 1000));
  watch(hash, { before, seconds, answers });
}

/** Show a payment until its end, and what became of the money. */
async function watch(hash, ways) {
  const end = (await followed(hash, ways)) ?? {};
  const { payment, refusal } = end;
  if ((payment || refusal) && unknown === hash) unknown = undefined;
  if (payment?.status === "SUCCEEDED") {
    succeed(`Paid ${sats(Number(payment.value_msat) / 1000)}`, {
      Fee: sats(Number(payment.fee_msat) / 1000),
      "Payment hash": payment.payment_hash,
      Preimage: payment.payment_preimage,
    });
  } else if (payment) {
    fail(`${reasonOf(payment)} ${NOTHING}`);
  } else if (refusal) {
    fail(`${meaningOf(refusal) ?? refusal.message} ${NOTHING}`);
  } else if (end.unknown !== undefined) {
    unknown = hash;
    const why = end.unknown
      ? `${end.unknown} See Payments before you pay again.`
      : "The answer was lost, and the node has no such payment yet. It may still begin. You can pay this invoice again, which the node pays once; don't pay it another way.";
    fail(`What became of the payment is not known. ${why}`, "Not known whether it is paid");
  }
}

function succeed(title, facts) {
  $("sent-title").textContent = title;
  $("sent-facts").replaceChildren(...Object.entries(facts).flatMap(([name, text]) => {
    const [term, fact, code] = ["dt", "dd", "code"].map((tag) => document.createElement(tag));
    term.textContent = name;
    code.textContent = text;
    fact.append(code);
    return [term, fact];
  }));
  show("sent");
}

function fail(words, title = "Not paid") {
  $("failed-title").textContent = title;
  $("failed-reason").textContent = words;
  show("failed");
}

async function sendCoins(amount, isAll) {
  const { address } = planned;
  const rate = typedSats($("rate").value);
  if (!rate) throw new Trouble("form", `Fee rate: must be a whole number of sat/vB. ${NOTHING}`);
  if (!isAll && amount > node.coins) {
    throw new Trouble("form", `${sats(amount)} is more than the node's confirmed coins: ${sats(node.coins)}. ${NOTHING}`);
  }
  const title = isAll ? "Send all coins?" : `Send ${sats(amount)}?`;
  const may = await confirmed({
    calls: CALLS,
    title,
    lines: [`To ${address}`, `${isAll ? "All confirmed coins, less the" : "Plus a"} network fee of ${rate} sat/vB.`, "You can't undo this."],
    button: title.replace("?", ""),
  });
  if (may === undefined) return;
  const label = `dashboard ${toHex(random(8))}`;
  progress("Sending…");
  let txid;
  isSending = true;
  try {
    ({ txid } = await lnd.call("POST", "/v1/transactions", {
      addr: address,
      ...(isAll ? { send_all: true } : { amount: String(amount) }),
      sat_per_vbyte: String(rate),
      label,
    }, may, SEND_MS));
  } catch (error) {
    txid = await labelled(label, error);
  } finally {
    isSending = false;
  }
  if (txid === undefined) {
    fail("Whether the coins were sent is not known: the node lists no such transaction yet. See Payments before you send again.", "Not known whether the coins were sent");
    return;
  }
  succeed(isAll ? "Sent all coins" : `Sent ${sats(amount)}`, {
    "Transaction ID": txid,
    To: address,
    "Fee rate": `${rate} sat/vB`,
  });
}

/** Find the transaction whose answer was lost, or a refusal; undefined if nobody can say. */
async function labelled(label, error) {
  for (let gone = 0; gone < GONE_COINS;) {
    progress("Asking the node whether it sent the coins…");
    let transactions;
    try {
      ({ transactions } = await ask("/v1/transactions"));
    } catch (other) {
      if (other.kind !== "unreachable") {
        unknown = label;
        throw new Trouble("refused", `Whether the coins were sent is not known: ${other.message} See Payments before you send again.`);
      }
    }
    const found = transactions?.find((each) => each.label === label);
    if (found) return found.tx_hash;
    if (transactions && error.said !== undefined) throw refused(error);
    if (transactions) gone += 1;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  unknown = label;
  return undefined;
}

window.addEventListener("beforeunload", (event) => {
  if (isSending) event.preventDefault();
});

async function read(looks) {
  const { info, coins, channels } = await lnd.overview(looks);
  return { key: info.identity_pubkey, channels, coins: Number(coins.confirmed_balance) };
}

function draw(told) {
  node = told;
  $("can-send").textContent = sats(sendable());
  $("coins").textContent = sats(told.coins);
}

/** Forget what may spend; say what a payment that was watched leaves open. */
function clear() {
  forget();
  stopScanning();
  $("by-command").hidden = true;
  const isOver = !stopWatching() && !isSending && unknown === undefined;
  return isOver ? "" : "What became of the payment is not known yet: see Payments before you pay again.";
}

await whileOpen({ read, draw, clear });
