/** Balances and channels: what only the node knows, asked of it while the vault is open. */

import { toHex } from "../bytes.js";
import { parse } from "../macaroon.js";
import { KEPT_MS, looking, ofVault, Opened } from "../opened.js";
import { $, attempt, lnd, node, onClick, onSubmit, platform, progress, show, wipe } from "../page.js";
import { draw as drawCode } from "../qr.js";
import { Trouble } from "../trouble.js";

const AGAIN_MS = 10_000;
const NOT_USABLE = ["pending", "inactive", "closing"];
const NO_ALIAS = /^unable to lookup peer alias/; // lnd's words, where an alias would be
const sats = (number) => `${Number(number).toLocaleString("en")} sat`;
const reached = $("wallet").dataset.peer; // HOST:PORT, from the platform
const opened = new Opened(node, platform.token);
let looks; // {macaroon}, while the vault is open
let active = Date.now(); // when somebody last did something here

onSubmit($("enter"), async () => {
  const { locks } = opened;
  progress("Opening the vault…");
  const found = $("pasted").value.trim()
    ? toHex(parse($("pasted").value).bytes)
    : await ofVault({ node, platform }, $("password").value);
  progress("Asking the node…");
  const macaroon = await looking(lnd, found, platform.now());
  wipe("password", "pasted");
  await open(macaroon, { locks });
  opened.keep(macaroon);
});

onClick("lock", async () => opened.lock());
opened.onlock = () => {
  if (looks === undefined) return;
  close();
  show("closed");
};

/** Show what the node tells, from now on; nothing if it was locked since `locks`. */
async function open(macaroon, { locks, takesFocus = true }) {
  const told = await lnd.overview(macaroon);
  if (opened.locks !== locks) {
    throw new Trouble("form", "The vault was locked in the meantime. Open it again.");
  }
  looks = { macaroon };
  draw(told);
  show("open", { takesFocus });
  setTimeout(again, AGAIN_MS, looks);
}

/** Look once more; what was shown stays while the node is away. */
async function again(mine) {
  if (looks !== mine) return; // locked meanwhile
  const left = KEPT_MS - (Date.now() - active);
  if (left <= 0) {
    opened.onlock(); // nobody is here; another page may be in use
    return;
  }
  try {
    opened.renew(mine.macaroon, left);
    if (!document.hidden) {
      const told = await lnd.overview(mine.macaroon);
      if (looks !== mine) return;
      draw(told);
    }
  } catch (error) {
    if (looks !== mine) return;
    if (error.kind !== "unreachable") {
      opened.lock(); // its macaroon was revoked, or a day has passed
      await attempt(() => Promise.reject(error));
      return;
    }
  }
  setTimeout(again, AGAIN_MS, mine);
}

function close() {
  looks = undefined;
  for (const place of document.querySelectorAll("[data-private]")) place.replaceChildren();
  link();
}

/** Let links to an order name this node's key, while it is known. */
function link(key) {
  for (const each of document.querySelectorAll("[data-inbound]")) {
    each.href = key ? `${each.dataset.inbound}&node=${key}` : each.dataset.inbound;
  }
}

/** Draw the address that other nodes connect to; they scan it. */
function drawPeer(address) {
  for (const id of ["copy-peer", "peer-shown"]) $(id).hidden = address === undefined;
  if (address === undefined) $("peer-code").replaceChildren();
  else drawCode($("peer-code"), address);
}

function draw({ info, coins, channels }) {
  const peer = reached ? `${info.identity_pubkey}@${reached}` : info.uris?.[0];
  drawPeer(peer);
  link(info.identity_pubkey);
  const sum = (side, wanted) => channels
    .filter(({ state }) => state === wanted)
    .reduce((all, { channel }) => all + Number(channel[side]), 0);
  // What can't be sent or received now: "5 sat pending, 10 sat inactive".
  const others = (side) => NOT_USABLE
    .map((state) => [sum(side, state), state])
    .filter(([amount]) => amount > 0)
    .map(([amount, state]) => `${sats(amount)} ${state}`)
    .join(", ");
  const incoming = Number(coins.unconfirmed_balance);
  tell({
    coins: sats(coins.confirmed_balance),
    unconfirmed: incoming ? `${sats(incoming)} unconfirmed` : "confirmed",
    local: sats(sum("local_balance", "active")),
    remote: sats(sum("remote_balance", "active")),
    "local-others": others("local_balance"),
    "remote-others": others("remote_balance"),
    alias: info.alias,
    key: info.identity_pubkey,
    peer: peer ?? "none: other nodes can't connect to this node",
    chain: `${info.synced_to_chain ? "Synced" : "Not synced"}, block ${Number(info.block_height).toLocaleString("en")}`,
    graph: info.synced_to_graph ? "Synced" : "Not synced",
    peers: info.num_peers,
  });
  $("channels").replaceChildren(...channels.map(row));
  $("some").hidden = channels.length === 0;
  $("none").hidden = channels.length > 0;
}

function tell(facts) {
  for (const place of document.querySelectorAll("[data-figure]")) {
    place.textContent = facts[place.dataset.figure];
  }
}

function row({ state, channel }) {
  const made = $("channel").content.cloneNode(true);
  const at = (name) => made.querySelector(`[data-${name}]`);
  const key = channel.remote_pubkey ?? channel.remote_node_pub;
  const alias = NO_ALIAS.test(channel.peer_alias) ? "" : channel.peer_alias;
  at("with").textContent = alias || `${key.slice(0, 16)}…`;
  at("with").title = key;
  at("state").textContent = state;
  at("state").classList.add(`state-${state}`);
  at("local").textContent = sats(channel.local_balance);
  at("remote").textContent = sats(channel.remote_balance);
  const ours = (100 * Number(channel.local_balance)) / Math.max(1, Number(channel.capacity));
  made.querySelector(".ours").setAttribute("width", ours.toFixed(1));
  return made;
}

for (const event of ["pointermove", "keydown", "scroll"]) {
  document.addEventListener(event, () => { active = Date.now(); }, { passive: true });
}

// What was shown is not for whoever comes back to this window.
window.addEventListener("pagehide", close);

const { locks } = opened;
const left = await opened.find();
if (left) await attempt(() => open(left, { locks, takesFocus: false }));
