/** Restore: a wallet of a seed that exists, and its channels' coins from a backup. */

import { fromBase64, toBase64 } from "../bytes.js";
import { Making } from "../making.js";
import {
  $,
  attempt,
  lnd,
  newPassword,
  node,
  onClick,
  onSubmit,
  platform,
  progress,
  reach,
  show,
  wipe,
} from "../page.js";
import { isWhole, parse } from "../seed.js";
import { Trouble } from "../trouble.js";
import * as vault from "../vault.js";

const RECOVERY_WINDOW = 2_500; // lnd's own suggestion: addresses to look back over
let making, channels;

onSubmit($("restore"), async () => {
  const password = newPassword("password", "again");
  if ((await lnd.state()) !== "NON_EXISTING") {
    throw new Trouble("refused", "This node already has a wallet: you can restore only on a new node.");
  }
  const seed = $("from-vault").checked ? await kept() : typed();
  const options = {
    passphrase: $("passphrase").value,
    recovery: $("look-back").checked ? RECOVERY_WINDOW : 0,
  };
  channels = await backup("channels");
  making = new Making({ node, lnd, platform }, password, seed, { options });
  show("make");
  // What fails is said beside the button that goes on where it broke off.
  await attempt(makeAndGoOn);
});

onClick("retry", makeAndGoOn);

async function makeAndGoOn() {
  await make();
  await next();
}

async function make() {
  await making.run();
  progress("The wallet is created. lnd is starting…");
  await reach(["RPC_ACTIVE", "SERVER_ACTIVE"]);
}

/** The wallet is there; now its channels, if there is a backup of them. */
async function next() {
  wipe("password", "again", "words", "passphrase", "vault-password", "channels-text");
  if (!channels) return show("done");
  show("channels");
  await attempt(async () => {
    await bringHome();
    show("done");
  });
}

async function bringHome() {
  progress("lnd is searching for coins, which can take a long time. Keep this page open…");
  await reach(["SERVER_ACTIVE"], { mayTakeLong: true });
  progress("Asking the peers to close the channels…");
  const number = await lnd.restoreChannels(await admin(), channels);
  $("how-many").textContent = `${number} channel${number === 1 ? "" : "s"}`;
  $("closing").hidden = false;
}

onSubmit($("come-home"), async () => {
  channels = (await backup("late")) ?? channels;
  if (!channels) throw new Trouble("form", "Channel backup: choose a file, or paste it.");
  await bringHome();
  wipe("opens", "late-text");
  show("done");
});

onClick("without", async () => show("done"));
onClick("late-home", async () => show("channels"));

/** The admin macaroon: of the wallet that was made just now, or out of the vault. */
async function admin() {
  if (making?.admin) return making.admin;
  const found = (await platform.backups()).find(vault.isAdmin);
  if (found === undefined) throw new Trouble("form", "The vault has no admin macaroon.");
  return vault.open(node, found, $("opens").value);
}

async function kept() {
  const found = (await platform.backups()).find(({ kind }) => kind === "seed");
  if (found === undefined) throw new Trouble("form", "No seed is stored for this node.");
  return vault.open(node, found, $("vault-password").value);
}

function typed() {
  const words = parse($("words").value);
  if (!isWhole(words)) {
    throw new Trouble("form", `The 24 words: you entered ${words.length}.`);
  }
  return words;
}

/** Read the backup of channels: a file, or base64 that was pasted. */
async function backup(id) {
  const [file] = $(id).files;
  if (file) return toBase64(new Uint8Array(await file.arrayBuffer()));
  const pasted = $(`${id}-text`).value.replaceAll(/\s/g, "");
  if (!pasted) return undefined;
  try {
    return toBase64(fromBase64(pasted));
  } catch {
    throw new Trouble("form", "Channel backup: not valid base64.");
  }
}

onClick("back", async () => show("give"));

$("from-vault").addEventListener("change", () => {
  $("typed").hidden = $("from-vault").checked;
  $("kept").hidden = !$("from-vault").checked;
});

attempt(async () => {
  if ((await lnd.state()) === "NON_EXISTING") return;
  show("exists");
  $("locked-away").hidden = false; // only who made the wallet here needs no password
});
