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
let making;

onSubmit($("restore"), async () => {
  const password = newPassword("password", "again");
  if ((await lnd.state()) !== "NON_EXISTING") {
    throw new Trouble("refused", "This node has a wallet already: only a new one can be restored.");
  }
  const seed = $("from-vault").checked ? await kept() : typed();
  const options = {
    passphrase: $("passphrase").value,
    recovery: $("look-back").checked ? RECOVERY_WINDOW : 0,
    channels: await channels(),
  };
  making = new Making({ node, lnd, platform }, password, seed, { options });
  show("make");
  if (await attempt(make)) finish();
});

onClick("retry", async () => {
  await make();
  finish();
});

async function kept() {
  const found = (await platform.backups()).find(({ kind }) => kind === "seed");
  if (found === undefined) throw new Trouble("form", "No seed is kept for this node.");
  return vault.open(node, found, $("vault-password").value);
}

function typed() {
  const words = parse($("words").value);
  if (!isWhole(words)) {
    throw new Trouble("form", `A seed has 24 words; here are ${words.length}.`);
  }
  return words;
}

/** Read the backup of channels: a file, or base64 that was pasted. */
async function channels() {
  const [file] = $("channels").files;
  if (file) return toBase64(new Uint8Array(await file.arrayBuffer()));
  const pasted = $("channels-text").value.replaceAll(/\s/g, "");
  if (!pasted) return undefined;
  try {
    return toBase64(fromBase64(pasted));
  } catch {
    throw new Trouble("form", "The backup of channels is not base64.");
  }
}

async function make() {
  await making.run();
  progress("The wallet is made. lnd is starting…");
  await reach("RPC_ACTIVE", "SERVER_ACTIVE");
}

function finish() {
  making = undefined;
  wipe("password", "again", "words", "passphrase", "vault-password", "channels-text");
  show("done");
}

onClick("back", async () => show("give"));

$("from-vault").addEventListener("change", () => {
  $("typed").hidden = $("from-vault").checked;
  $("kept").hidden = !$("from-vault").checked;
});

attempt(async () => {
  if ((await lnd.state()) !== "NON_EXISTING") show("exists");
});
