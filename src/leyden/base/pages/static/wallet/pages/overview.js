/** Overview: the balance first, and how the node is; asked of it while the vault is open. */

import { whileOpen } from "../open_vault.js";
import { $, lnd } from "../page.js";
import { draw as drawCode } from "../qr.js";
import { sats } from "../shown.js";

const NOT_USABLE = ["pending", "inactive", "closing"];
const reached = $("wallet").dataset.peer; // HOST:PORT, from the platform

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
    channels: ["active", ...NOT_USABLE]
      .map((state) => [channels.filter((each) => each.state === state).length, state])
      .filter(([count]) => count > 0)
      .map(([count, state]) => `${count} ${state}`)
      .join(", ") || "none",
  });
  $("none").hidden = channels.length > 0;
}

function tell(facts) {
  for (const place of document.querySelectorAll("[data-figure]")) {
    place.textContent = facts[place.dataset.figure];
  }
}

await whileOpen({ read: (macaroon) => lnd.overview(macaroon), draw, clear: () => link() });
