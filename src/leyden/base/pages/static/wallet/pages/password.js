/**
 * Change password: of the wallet, and of all backups that the old one opens.
 *
 * 1. The backups are opened and sealed anew, here. Nothing has changed yet.
 * 2. lnd changes the password.
 * 3. The platform puts them in the place of the old, all at once. If that fails, they
 *    are still here, and the old password still opens what is kept.
 */

import { keep } from "../making.js";
import {
  $,
  attempt,
  fill,
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
import { Trouble } from "../trouble.js";
import * as vault from "../vault.js";

let work;

onSubmit($("change"), async () => {
  const next = newPassword("next", "again");
  const current = $("current").value;
  const backups = await platform.backups();
  progress("Re-encrypting the backups…");
  const { anew, left } = await vault.reseal(node, backups, current, next, (done, of) =>
    progress(`Re-encrypting the backups: ${done} of ${of}…`),
  );
  progress("lnd is changing the password…");
  const admin = await changed(current, next);
  wipe("current", "next", "again");
  work = { next, anew, left, admin };
  show("keep");
  if (await attempt(keepAll)) finish();
});

async function changed(current, next) {
  try {
    return await lnd.changePassword(current, next);
  } catch (error) {
    if (error.kind !== "unreachable") throw error;
    throw new Trouble("unreachable", `${error.message} The wallet may have its new password all the same. Reload this page once the node answers: if the wallet is unlocked, it has. The backups still have the old one; change that on the page Vault.`);
  }
}

onClick("retry", async () => {
  await keepAll();
  finish();
});

async function keepAll() {
  progress("Storing the re-encrypted backups…");
  if (work.anew.length) await platform.reseal(work.anew);
  work.anew = [];
  // Asked anew: an earlier try may have stored it, and lost the answer.
  if (!(await platform.backups()).some(vault.isAdmin)) {
    await keep({ node, platform, password: work.next }, vault.ADMIN, work.admin);
  }
  progress("lnd is starting…");
  await reach(["RPC_ACTIVE", "SERVER_ACTIVE"]);
}

function finish() {
  const names = work.left.map(({ kind, name }) => name || kind);
  fill($("left"), names);
  $("some-left").hidden = names.length === 0;
  work = undefined;
  show("done");
}

attempt(async () => {
  const state = await lnd.state();
  if (state === "NON_EXISTING") show("none");
  else if (state !== "LOCKED" && state !== "WAITING_TO_START") show("open");
});
