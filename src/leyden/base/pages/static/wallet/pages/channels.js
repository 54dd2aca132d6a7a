/** Channels: the list, opening and closing, moving balance, what forwarding costs, peers. */

import { confirmed, forget } from "../acting.js";
import { fromBase64, fromHex, toBase64, toHex } from "../bytes.js";
import { ask, macaroon, whileOpen } from "../open_vault.js";
import { $, attempt, lnd, onClick, onSubmit, progress, show } from "../page.js";
import { followed, GRACE_S, reasonOf, stopWatching } from "../paying.js";
import { fillIn, peerName, sats, span, typedSats } from "../shown.js";
import { Trouble } from "../trouble.js";

const CALLS = [
  "/lnrpc.Lightning/OpenChannelSync",
  "/lnrpc.Lightning/CloseChannel",
  "/lnrpc.Lightning/UpdateChannelPolicy",
  "/lnrpc.Lightning/ConnectPeer",
  "/lnrpc.Lightning/DisconnectPeer",
  "/routerrpc.Router/SendPaymentV2",
];
const MINUTES_A_BLOCK = 10;
const OPEN_MS = 90_000; // for the transaction, and the peer's signature
const CLOSE_MS = 90_000; // for the peer's signature
const MOVE_S = 60; // in which lnd tries routes
const MARGIN_S = 60; // for which the invoice outlasts the payment
const UNMOVED = "Nothing was moved, and no fee was paid.";
const leases = JSON.parse($("wallet").dataset.leases); // channel point: {ends, order}
let drawn; // {channels, peers, info, fees}, as they were told last
let of; // the channel whose fees, balance or end is asked about

async function read(looks) {
  const [info, channels, { peers }, { channel_fees: fees }] = await Promise.all([
    lnd.call("GET", "/v1/getinfo", undefined, looks),
    lnd.channels(looks),
    lnd.call("GET", "/v1/peers", undefined, looks),
    lnd.call("GET", "/v1/fees", undefined, looks),
  ]);
  return { info, channels, peers, fees: new Map(fees.map((each) => [each.channel_point, each])) };
}

function draw(told) {
  drawn = told;
  const { at } = document.activeElement.dataset;
  $("channels").replaceChildren(...told.channels.map(row));
  $("some").hidden = told.channels.length === 0;
  $("none").hidden = told.channels.length > 0;
  $("all-fees").hidden = !told.channels.some(({ state }) => state === "active");
  $("peers").replaceChildren(...told.peers.map(peer));
  $("no-peers").hidden = told.peers.length > 0;
  for (const each of document.querySelectorAll("[data-inbound]")) {
    each.href = `${each.dataset.inbound}&node=${told.info.identity_pubkey}`;
  }
  // Who has come to a button of a row by keyboard stays there: a peer may have several.
  if (at) document.querySelector(`[data-at="${CSS.escape(at)}"]`)?.focus();
}

const keyOf = (channel) => channel.remote_pubkey ?? channel.remote_node_pub;
const nameOf = (channel) => peerName(keyOf(channel), channel.peer_alias);

function row({ state, channel, pending }) {
  const fees = drawn.fees.get(channel.channel_point);
  const lease = leases[channel.channel_point];
  const isOpen = state === "active" || state === "inactive";
  const made = fillIn($("channel").content.cloneNode(true), {
    with: nameOf(channel),
    state,
    detail: detail(state, channel, pending),
    capacity: sats(channel.capacity),
    local: sats(channel.local_balance),
    remote: sats(channel.remote_balance),
    fees: fees ? `${Number(fees.base_fee_msat).toLocaleString("en")} msat + ${Number(fees.fee_per_mil).toLocaleString("en")} ppm` : "",
    lease: lease?.ends ? `Lease until block ${lease.ends.toLocaleString("en")}` : "",
  });
  made.querySelector("[data-with]").title = keyOf(channel);
  made.querySelector("[data-state]").classList.add(`state-${state}`);
  const ours = (100 * Number(channel.local_balance)) / Math.max(1, Number(channel.capacity));
  made.querySelector(".ours").setAttribute("width", ours.toFixed(1));
  const order = made.querySelector("[data-order]");
  if (lease) order.href = lease.order;
  else order.remove();
  const [change, move, close] = ["change", "move", "close"].map((name) => made.querySelector(`[data-${name}]`));
  if (!isOpen || targetsOf(channel).length === 0) move.remove();
  if (!isOpen) {
    change.remove();
    close.remove();
    return made;
  }
  for (const [name, button] of Object.entries({ change, move, close })) {
    button.dataset.at = `${name} ${channel.channel_point}`;
  }
  move.setAttribute("aria-label", `Move balance out of the channel with ${nameOf(channel)}`);
  move.addEventListener("click", () => askMove(channel));
  change.setAttribute("aria-label", `Change fees of the channel with ${nameOf(channel)}`);
  change.addEventListener("click", () => askFees(channel));
  close.setAttribute("aria-label", `Close the channel with ${nameOf(channel)}`);
  close.addEventListener("click", () => askClose(channel));
  return made;
}

/** Say what a channel waits for, or how long it was up. */
function detail(state, channel, pending) {
  if (pending?.confirmations_until_active > 0) {
    return `${pending.confirmations_until_active} confirmations to go`;
  }
  if (pending?.blocks_til_maturity > 0) {
    return `${sats(pending.limbo_balance)} returns in ${blocks(pending.blocks_til_maturity)}`;
  }
  if (pending) return state === "closing" ? "waits for its transaction" : "";
  const kinds = [channel.private ? "unannounced" : "announced"];
  if (Number(channel.lifetime) > 0) {
    kinds.push(`up ${((100 * Number(channel.uptime)) / Number(channel.lifetime)).toFixed(0)} % of ${span(Number(channel.lifetime))}`);
  }
  return kinds.join(", ");
}

const blocks = (count) =>
  `${Number(count).toLocaleString("en")} blocks (about ${span(Number(count) * MINUTES_A_BLOCK * 60)})`;

function peer({ pub_key: key, address, inbound }) {
  const made = fillIn($("peer").content.cloneNode(true), {
    key: `${key.slice(0, 16)}…`,
    address,
    way: inbound ? "it connected" : "this node connected",
  });
  made.querySelector("[data-key]").title = key;
  const button = made.querySelector("button");
  button.dataset.at = `disconnect ${key}`;
  button.setAttribute("aria-label", `Disconnect ${key.slice(0, 16)}`);
  button.addEventListener("click", () => attempt(() => disconnect(key)));
  return made;
}

const PEER = /^(0[23][0-9a-f]{64})(?:@([^\s@]+))?$/i;

/** Read PUBLIC-KEY@HOST:PORT; the host may be left out where they are connected. */
function uri(text, { needsHost }) {
  const [, key, host] = text.trim().match(PEER) ?? [];
  if (!key || (needsHost && !host)) {
    throw new Trouble("form", "Peer: must look like PUBLIC-KEY@HOST:PORT. Nothing was changed.");
  }
  return { key: key.toLowerCase(), host };
}

/** Do it once it is confirmed; then show what the node has now. */
async function act(question, work) {
  const may = await confirmed({ calls: CALLS, ...question });
  if (may === undefined) return;
  progress(question.doing);
  try {
    say(await work(may));
  } catch (error) {
    if (error.kind === "unreachable") {
      throw new Trouble("refused", `The answer was lost. ${question.lost}`);
    }
    if (error.said === undefined) throw error;
    throw new Trouble("refused", `${error.message} ${question.refused}`);
  } finally {
    await again().catch(() => {}); // what went wrong before matters more
  }
}

function say(words) {
  $("said").textContent = words;
  $("said").hidden = false;
}

onSubmit($("open-channel"), async () => {
  const { key, host } = uri($("peer-uri").value, { needsHost: false });
  const amount = typedSats($("funding").value);
  const rate = typedSats($("open-rate").value);
  if (!amount) throw new Trouble("form", "Amount: must be a whole number of sats. Nothing was sent.");
  if ($("open-rate").value.trim() && !rate) {
    throw new Trouble("form", "Fee rate: must be a whole number of sat/vB. Nothing was sent.");
  }
  const isConnected = drawn.peers.some((each) => each.pub_key === key);
  if (!isConnected && !host) {
    throw new Trouble("form", "Peer: this node is not connected to it. Add @HOST:PORT. Nothing was sent.");
  }
  await act({
    title: `Open a channel of ${sats(amount)}?`,
    lines: [
      `With ${key.slice(0, 16)}…${host ? ` at ${host}` : ""}`,
      `The node funds it from its on-chain balance, and pays the network fee${rate ? ` of ${rate} sat/vB` : ""}.`,
      $("unannounced").checked ? "It is not announced: other nodes don't route through it." : "It is announced to the network.",
      ...($("zero-conf").checked ? ["It can be used before it is confirmed, if the peer accepts that."] : []),
    ],
    button: "Open channel",
    doing: "Opening the channel…",
    refused: "No channel was opened, and nothing was sent.",
    lost: "The channel may have been opened: it is in the list if it was. Look there before you try again.",
  }, async (may) => {
    if (!isConnected) await connected(may, key, host);
    const made = await lnd.call("POST", "/v1/channels", {
      node_pubkey: toBase64(fromHex(key)),
      local_funding_amount: String(amount),
      private: $("unannounced").checked,
      ...($("zero-conf").checked && {
        zero_conf: true,
        commitment_type: "ANCHORS",
        scid_alias: $("unannounced").checked,
      }),
      ...(rate && { sat_per_vbyte: String(rate) }),
    }, may, OPEN_MS);
    for (const id of ["peer-uri", "funding"]) $(id).value = "";
    return `The channel opens once its transaction is confirmed: ${txidOf(made)}`;
  });
});

/** Give the ID of a funding transaction, which lnd writes in bytes from its end. */
const txidOf = ({ funding_txid_str: text, funding_txid_bytes: bytes }) =>
  text || Array.from(atob(bytes), (each) => each.charCodeAt(0).toString(16).padStart(2, "0")).reverse().join("");

async function connected(may, key, host) {
  try {
    await lnd.call("POST", "/v1/peers", { addr: { pubkey: key, host }, perm: false, timeout: "10" }, may, OPEN_MS);
  } catch (error) {
    if (!/already connected/i.test(error.said ?? "")) throw error;
  }
}

onSubmit($("connect"), async () => {
  const { key, host } = uri($("connect-uri").value, { needsHost: true });
  await act({
    title: "Connect to this peer?",
    lines: [`${key.slice(0, 16)}… at ${host}`],
    button: "Connect",
    doing: "Connecting…",
    refused: "They are not connected.",
    lost: "The list shows whether they are connected.",
  }, async (may) => {
    await connected(may, key, host);
    $("connect-uri").value = "";
    return "Connected.";
  });
});

const disconnect = (key) => act({
  title: "Disconnect this peer?",
  lines: [`${key.slice(0, 16)}…`, "lnd refuses to disconnect a peer with a channel."],
  button: "Disconnect",
  doing: "Disconnecting…",
  refused: "They stay connected.",
  lost: "The list shows whether they are connected.",
}, async (may) => {
  await lnd.call("DELETE", `/v1/peers/${key}`, undefined, may);
  return "Disconnected.";
});

function askFees(channel) {
  of = channel;
  const known = channel && drawn.fees.get(channel.channel_point);
  $("fees-of").textContent = channel ? `the channel with ${nameOf(channel)}` : "all channels";
  $("base").value = known?.base_fee_msat ?? "";
  $("ppm").value = known?.fee_per_mil ?? "";
  show("fees");
}

onSubmit($("change-fees"), async () => {
  const [base, ppm] = ["base", "ppm"].map((id) => typedSats($(id).value));
  if (base === undefined) throw new Trouble("form", "Base fee: must be a whole number of msat. Nothing was changed.");
  if (ppm === undefined || ppm > 1_000_000) throw new Trouble("form", "Fee rate: must be 0 to 1,000,000 ppm. Nothing was changed.");
  const wanted = drawn.channels
    .filter(({ state }) => state === "active" || state === "inactive")
    .map(({ channel }) => channel)
    .filter((channel) => of === undefined || channel.channel_point === of.channel_point);
  await act({
    title: "Change the fees?",
    lines: [
      `Of ${$("fees-of").textContent}: ${base.toLocaleString("en")} msat + ${ppm.toLocaleString("en")} ppm.`,
      "Other nodes pay them when they route through this node. It takes minutes until all know.",
    ],
    button: "Change fees",
    doing: "Changing the fees…",
    refused: "Look at the fees in the list.",
    lost: "Look at the fees in the list: they may have changed.",
  }, async (may) => {
    for (const channel of wanted) await setFees(may, channel, base, ppm);
    show("open");
    return `Fees changed: ${wanted.length} ${wanted.length === 1 ? "channel" : "channels"}.`;
  });
});

async function setFees(may, channel, base, ppm) {
  const [funding_txid_str, output_index] = channel.channel_point.split(":");
  const told = await lnd.call("POST", "/v1/chanpolicy", {
    chan_point: { funding_txid_str, output_index: Number(output_index) },
    base_fee_msat: String(base),
    fee_rate_ppm: ppm,
    time_lock_delta: await timeLockOf(channel), // lnd wants it said again
  }, may);
  const [failed] = told.failed_updates ?? [];
  if (failed) throw new Trouble("refused", `The fees of the channel with ${nameOf(channel)} did not change: ${failed.update_error}`);
}

async function timeLockOf({ chan_id: id }) {
  const edge = await ask(`/v1/graph/edge/${id}`);
  const isFirst = edge.node1_pub === drawn.info.identity_pubkey;
  return (isFirst ? edge.node1_policy : edge.node2_policy).time_lock_delta;
}

/** Give the channels into which a channel's balance can move. */
const targetsOf = (from) => (from.active ? drawn.channels : [])
  .filter(({ state }) => state === "active")
  .map(({ channel }) => channel)
  .filter((channel) => channel.remote_pubkey !== from.remote_pubkey);

function askMove(channel) {
  of = channel;
  $("move-from").textContent = `${nameOf(channel)} (${sats(channel.local_balance)})`;
  $("move-to").replaceChildren(...targetsOf(channel).map((each) => new Option(
    `${sats(each.remote_balance)} can come in from ${nameOf(each)}`,
    each.chan_id,
  )));
  for (const id of ["move-amount", "move-limit"]) $(id).value = "";
  show("move");
}

onSubmit($("move-balance"), async () => {
  const from = of;
  const to = targetsOf(from).find((each) => each.chan_id === $("move-to").value);
  const [amount, limit] = ["move-amount", "move-limit"].map((id) => typedSats($(id).value));
  if (to === undefined) throw new Trouble("form", `To: one of the two peers is offline. ${UNMOVED}`);
  const most = Math.min(Number(from.local_balance), Number(to.remote_balance));
  if (!amount) throw new Trouble("form", `Amount: must be a whole number of sats. ${UNMOVED}`);
  if (amount > most) throw new Trouble("form", `Amount: at most ${sats(most)} can move between these two. ${UNMOVED}`);
  if (limit === undefined) throw new Trouble("form", `Fee limit: must be a whole number of sats. ${UNMOVED}`);
  const may = await confirmed({
    calls: CALLS,
    title: `Move ${sats(amount)}?`,
    lines: [
      `Out through the channel with ${nameOf(from)}, back in from ${nameOf(to)}.`,
      `The fee is at most ${sats(limit)}. Only the fee leaves this node.`,
    ],
    button: `Move ${sats(amount)}`,
  });
  if (may === undefined) return;
  progress("Asking the node…");
  let made;
  try {
    made = await lnd.call("POST", "/v1/invoices", {
      value: String(amount),
      memo: "dashboard rebalance",
      expiry: String(MOVE_S + MARGIN_S),
    }, macaroon());
  } catch (error) {
    throw error instanceof Trouble ? new Trouble(error.kind, `${error.message} ${UNMOVED}`) : error;
  }
  watchMove(toHex(fromBase64(made.r_hash)), lnd.stream("POST", "/v2/router/send", {
    payment_request: made.payment_request,
    fee_limit_sat: String(limit),
    timeout_seconds: MOVE_S,
    outgoing_chan_ids: [from.chan_id],
    last_hop_pubkey: toBase64(fromHex(to.remote_pubkey)),
    allow_self_payment: true,
  }, may, AbortSignal.timeout((MOVE_S + GRACE_S) * 1000)));
});

/** Show a payment to this node itself until its end, and what became of the balance. */
async function watchMove(hash, answers) {
  const end = await followed(hash, { seconds: MOVE_S, answers });
  if (end === undefined) return;
  const { payment, refusal, unknown } = end;
  await attempt(async () => {
    show("open");
    await again().catch(() => {}); // what became of it matters more
    if (payment?.status === "SUCCEEDED") {
      say(`Moved ${sats(Number(payment.value_msat) / 1000)}, for a fee of ${sats(Number(payment.fee_msat) / 1000)}.`);
    } else if (unknown === undefined) {
      throw new Trouble("refused", `${payment ? reasonOf(payment) : refusal.message} ${UNMOVED}`);
    } else {
      throw new Trouble("refused", `Whether the balance moved is not known. ${unknown} It may still move, and costs the fee limit at most: see Payments before you try again.`);
    }
  });
}

function askClose(channel) {
  of = channel;
  const { lines, isGone } = ending(channel);
  $("close-of").textContent = nameOf(channel);
  $("close-local").textContent = sats(channel.local_balance);
  $("force").checked = isGone;
  $("peer-gone").hidden = !isGone;
  $("force-costs").textContent = lines;
  $("close-lease").hidden = !leases[channel.channel_point];
  show("close");
}

const ending = (channel) => ({
  isGone: !channel.active,
  lines: `Your balance returns ${blocks(channel.csv_delay || channel.local_constraints?.csv_delay || 0)} after the transaction is confirmed. Its fee was set before: ${sats(channel.commit_fee)}${channel.initiator ? ", paid by this node" : ", paid by the peer"}. Returning the balance costs another fee.`,
});

onSubmit($("close-channel"), async () => {
  const channel = of;
  const force = $("force").checked;
  const rate = typedSats($("close-rate").value);
  if (!force && $("close-rate").value.trim() && !rate) {
    throw new Trouble("form", "Fee rate: must be a whole number of sat/vB. The channel stays open.");
  }
  if (!force && !channel.active) {
    throw new Trouble("form", "The peer is offline, so it can't agree. Wait for it, or force the close. The channel stays open.");
  }
  const [txid, index] = channel.channel_point.split(":");
  await act({
    title: force ? "Force-close this channel?" : "Close this channel?",
    lines: [
      `With ${nameOf(channel)}: ${sats(channel.local_balance)} return to this node's on-chain balance, less fees.`,
      ...(force ? [ending(channel).lines] : []),
      "You can't undo this.",
    ],
    button: force ? "Force-close channel" : "Close channel",
    doing: "Closing the channel…",
    refused: "The channel stays open.",
    lost: "The channel may be closing: the list says so if it is. Your balance in it is safe either way.",
  }, async (may) => {
    const path = `/v1/channels/${txid}/${index}?force=${force}${rate && !force ? `&sat_per_vbyte=${rate}` : ""}`;
    const ended = new AbortController();
    const patience = setTimeout(() => ended.abort(), CLOSE_MS); // peers may answer nothing
    try {
      for await (const told of lnd.stream("DELETE", path, undefined, may, ended.signal)) {
        if (told.close_pending || told.chan_close) break;
      }
    } finally {
      clearTimeout(patience);
      ended.abort();
    }
    show("open");
    return "The channel is closing: your balance returns once its transaction is confirmed.";
  });
});

for (const id of ["cancel-fees", "cancel-close", "cancel-move"]) onClick(id, async () => show("open"));
onClick("all-fees", async () => askFees(undefined));
onClick("stop-watching", async () => {
  stopWatching();
  show("open");
});

/** Forget all; say what a payment that was watched leaves open. */
function clear() {
  forget();
  drawn = of = undefined;
  $("said").hidden = true;
  return stopWatching() ? "Whether the balance moved is not known yet: see Payments before you try again." : "";
}

const again = await whileOpen({ read, draw, clear });
