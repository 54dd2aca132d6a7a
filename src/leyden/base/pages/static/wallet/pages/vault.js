/** Vault: the backups that are kept, opened here; and put under another password. */

import {
  $,
  attempt,
  fill,
  newPassword,
  node,
  onClick,
  onSubmit,
  platform,
  progress,
  wipe,
} from "../page.js";
import { inWords, Trouble } from "../trouble.js";
import * as vault from "../vault.js";

const SHOWN_MS = 120_000; // then it is hidden again: people walk away from screens
let hiding;

onSubmit($("open"), async () => {
  const backups = await platform.backups();
  if (!backups.length) throw new Trouble("form", "Nothing is stored for this node yet.");
  const password = $("password").value;
  const rows = [];
  for (const [done, backup] of backups.entries()) {
    progress(`Opening ${done + 1} of ${backups.length}…`);
    rows.push(row(backup, await secretOf(backup, password)));
  }
  wipe("password");
  $("opened").replaceChildren(...rows);
  $("results").hidden = false;
  $("results").querySelector("h2").focus();
  clearTimeout(hiding);
  hiding = setTimeout(hide, SHOWN_MS);
});

async function secretOf(backup, password) {
  try {
    const secret = await vault.open(node, backup, password);
    return { secret: backup.kind === "seed" ? secret.join(" ") : secret };
  } catch (error) {
    return { why: inWords(error) };
  }
}

function row(backup, { secret, why }) {
  const made = $("backup").content.cloneNode(true);
  made.querySelector("[data-name]").textContent =
    backup.kind === "seed" ? "Seed" : backup.name;
  made.querySelector("[data-why]").textContent = why ?? "";
  const text = made.querySelector("[data-secret]");
  const reveal = made.querySelector("[data-reveal]");
  const copy = made.querySelector("[data-take]");
  if (secret === undefined) {
    reveal.remove();
    copy.remove();
    return made;
  }
  reveal.addEventListener("click", () => {
    text.textContent = text.textContent === "" ? secret : "";
    reveal.textContent = text.textContent === "" ? "Show" : "Hide";
  });
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(secret);
    copy.textContent = "Copied";
  });
  return made;
}

function hide() {
  clearTimeout(hiding);
  $("opened").replaceChildren();
  $("results").hidden = true;
}

onClick("close", async () => hide());

onSubmit($("reseal"), async () => {
  const next = newPassword("next", "again");
  const { anew, left } = await vault.reseal(
    node,
    await platform.backups(),
    $("current").value,
    next,
    (done, of) => progress(`Re-encrypting: ${done} of ${of}…`),
  );
  if (!anew.length) throw new Trouble("password", "This password decrypts none of these backups.");
  await platform.reseal(anew);
  wipe("current", "next", "again");
  $("resealed").textContent = `Re-encrypted: ${anew.length}.`;
  fill($("left"), left.map(({ kind, name }) => name || kind));
  $("some-left").hidden = left.length === 0;
  $("resealed").hidden = false;
});

attempt(async () => {
  const backups = await platform.backups();
  fill($("kept"), backups.map(({ kind, name }) => (kind === "seed" ? "Seed" : name)));
  $("nothing").hidden = backups.length > 0;
  // As where somebody closed the page that was creating the wallet.
  if ($("no-admin")) $("no-admin").hidden = backups.some(vault.isAdmin);
});
