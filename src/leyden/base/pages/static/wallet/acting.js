/**
 * Spending asks for the password: what an opened vault leaves can look and receive, and
 * nothing else. The node bakes a macaroon for the calls of this page alone, which lnd
 * refuses after ten minutes, and which ends with the page.
 */

import { bakes, ofVault } from "./opened.js";
import { describe, narrowed } from "./macaroon.js";
import { $, fill, lnd, node, platform, wipe } from "./page.js";
import { inWords, Trouble } from "./trouble.js";

const MINUTES = 10;
const MARGIN_MS = 60_000; // a call that begins now is still allowed
let acts; // {macaroon, until}

/**
 * Ask whether to do it; give the macaroon for it, or undefined if not.
 *
 * @param calls of lnd, as "/lnrpc.Lightning/SendCoins": the same each time on a page
 * @param lines what is about to happen, a sentence each
 */
export function confirmed({ calls, title, lines, button }) {
  const dialog = $("confirm-action");
  $("confirm-title").textContent = title;
  fill($("confirm-lines"), lines);
  $("confirm-button").textContent = button;
  $("confirm-wrong").hidden = true;
  const isKnown = acts !== undefined && acts.until - Date.now() > MARGIN_MS;
  $("confirm-asks").hidden = isKnown;
  $("confirm-password").required = !isKnown;
  // The page has switched off all buttons while it waits for this answer.
  for (const each of dialog.querySelectorAll("button")) each.disabled = false;
  dialog.showModal();
  return new Promise((resolve) => {
    const answered = new AbortController();
    const { signal } = answered;
    let given;
    $("confirming").addEventListener("submit", async (event) => {
      event.preventDefault();
      $("confirm-button").disabled = true;
      try {
        if (!isKnown) {
          const made = await baked($("confirm-password").value, calls);
          if (signal.aborted) return; // it was cancelled, or locked, meanwhile
          acts = made;
        }
        given = acts.macaroon;
        dialog.close();
      } catch (error) {
        $("confirm-wrong").textContent = inWords(error);
        $("confirm-wrong").hidden = false;
      } finally {
        $("confirm-button").disabled = false;
      }
    }, { signal });
    $("confirm-cancel").addEventListener("click", () => dialog.close(), { signal });
    dialog.addEventListener("close", () => {
      answered.abort();
      wipe("confirm-password");
      resolve(given);
    }, { signal });
  });
}

async function baked(password, calls) {
  const admin = await ofVault({ node, platform }, password);
  if (!bakes(describe(admin))) {
    throw new Trouble("form", "The vault has no admin macaroon, which this needs.");
  }
  const uris = calls.map((action) => ({ entity: "uri", action }));
  const made = await lnd.bake(admin, uris, "0");
  const until = platform.now().getTime() + MINUTES * 60_000;
  const bound = new Date(until).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    macaroon: await narrowed(made, `time-before ${bound}`),
    until: Date.now() + MINUTES * 60_000,
  };
}

/** Forget it: the vault was locked. */
export function forget() {
  acts = undefined;
  if ($("confirm-action").open) $("confirm-action").close();
}
