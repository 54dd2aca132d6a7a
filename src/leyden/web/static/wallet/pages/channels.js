/** Channels: what only the node knows, asked of it in this browser. */

import { toHex } from "../bytes.js";
import { isAdmin } from "../making.js";
import { parse } from "../macaroon.js";
import { $, attempt, lnd, node, onSubmit, platform, progress, show, wipe } from "../page.js";
import { Trouble } from "../trouble.js";
import * as vault from "../vault.js";

const AGAIN_MS = 10_000;
const sats = (number) => `${Number(number).toLocaleString("en")} sat`;

onSubmit($("enter"), async () => {
  const macaroon = $("pasted").value.trim()
    ? toHex(parse($("pasted").value).bytes)
    : await ofVault();
  progress("Asking the node…");
  draw(await lnd.channels(macaroon));
  wipe("password", "pasted");
  show("look");
  setTimeout(again, AGAIN_MS, macaroon);
});

async function ofVault() {
  progress("Opening the vault…");
  const kept = await platform.backups();
  const found = kept.find(isAdmin) ?? kept.find(({ kind }) => kind === "macaroon");
  if (found === undefined) {
    throw new Trouble("form", "The vault holds no macaroon: paste one.");
  }
  return vault.open(node, found, $("password").value);
}

/** Look once more; what was shown stays while the node is away. */
async function again(macaroon) {
  try {
    if (!document.hidden) draw(await lnd.channels(macaroon));
  } catch (error) {
    if (error.kind !== "unreachable") {
      await attempt(() => Promise.reject(error)); // its macaroon was revoked, say
      return;
    }
  }
  setTimeout(again, AGAIN_MS, macaroon);
}

function draw({ info, coins, open, pending }) {
  const rows = [
    ...open.map((each) => [each.active ? "active" : "away", each]),
    ...pending.map(({ channel }) => ["pending", channel]),
  ];
  const sum = (side) => rows.reduce((all, [, each]) => all + Number(each[side]), 0);
  tell({
    height: Number(info.block_height).toLocaleString("en")
      + (info.synced_to_chain ? "" : ", behind its chain"),
    coins: sats(coins.total_balance),
    local: sats(sum("local_balance")),
    remote: sats(sum("remote_balance")),
    peers: info.num_peers,
    key: info.identity_pubkey,
  });
  $("channels").replaceChildren(...rows.map(([state, each]) => row(state, each)));
  $("some").hidden = rows.length === 0;
  $("none").hidden = rows.length > 0;
}

function tell(facts) {
  for (const place of document.querySelectorAll("[data-told]")) {
    place.textContent = facts[place.dataset.told];
  }
}

function row(state, each) {
  const made = $("channel").content.cloneNode(true);
  const at = (name) => made.querySelector(`[data-${name}]`);
  const key = each.remote_pubkey ?? each.remote_node_pub;
  at("with").textContent = each.peer_alias || `${key.slice(0, 16)}…`;
  at("with").title = key;
  at("state").textContent = state;
  at("state").classList.add(`state-${state}`);
  at("local").textContent = sats(each.local_balance);
  at("remote").textContent = sats(each.remote_balance);
  const ours = (100 * Number(each.local_balance)) / Math.max(1, Number(each.capacity));
  made.querySelector(".ours").setAttribute("width", ours.toFixed(1));
  return made;
}
