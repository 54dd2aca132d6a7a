/**
 * What pages share that ask the node while its owner's vault is open: opening it, asking
 * again while somebody looks, and locking.
 */

import { toHex } from "./bytes.js";
import { parse } from "./macaroon.js";
import { KEPT_MS, looking, ofVault, Opened } from "./opened.js";
import { $, attempt, lnd, node, onClick, onSubmit, platform, progress, show, wipe } from "./page.js";
import { Trouble } from "./trouble.js";

const AGAIN_MS = 10_000;
const opened = new Opened(node, platform.token);
let looks; // {macaroon}, while the vault is open
let active = Date.now(); // when somebody last did something here

/** Give the macaroon that may look and receive, for what somebody does on the page. */
export function macaroon() {
  if (looks === undefined) throw new Trouble("form", "The vault is locked. Open it again.");
  return looks.macaroon;
}

/** Ask the node, with what the vault left. */
export const ask = (path) => lnd.call("GET", path, undefined, macaroon());

/**
 * Call `draw` with what `read` gives, once the vault is open and then every ten seconds;
 * `clear` when it was locked, which may say what that leaves open. A page without
 * `asksAgain` reads once, and when it calls what this gives.
 */
export async function whileOpen({ read, draw, clear, asksAgain = true }) {
  onSubmit($("enter"), async () => {
    const { locks } = opened;
    progress("Opening the vault…");
    const found = $("pasted").value.trim()
      ? toHex(parse($("pasted").value).bytes)
      : await ofVault({ node, platform }, $("password").value);
    progress("Asking the node…");
    const made = await looking(lnd, found, platform.now());
    wipe("password", "pasted");
    await open(made, { locks });
    opened.keep(made);
  });
  onClick("lock", async () => opened.lock());
  opened.onlock = () => {
    if (looks === undefined) return;
    const open = close();
    show("closed");
    if (open) fail(open);
  };
  const fail = (words) => attempt(() => Promise.reject(new Trouble("form", words)));

  /** Show what the node tells, from now on; nothing if it was locked since `locks`. */
  async function open(made, { locks, takesFocus = true }) {
    const told = await read(made);
    if (opened.locks !== locks) {
      throw new Trouble("form", "The vault was locked in the meantime. Open it again.");
    }
    looks = { macaroon: made };
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
      if (asksAgain && !document.hidden) {
        const told = await read(mine.macaroon);
        if (looks !== mine) return;
        draw(told);
      }
    } catch (error) {
      if (looks !== mine) return;
      if (error.kind !== "unreachable") {
        // Its macaroon was revoked, a day has passed, or the wallet is locked.
        const open = close();
        opened.lock();
        show("closed");
        await fail(`${error.message} ${open}`.trim());
        return;
      }
    }
    setTimeout(again, AGAIN_MS, mine);
  }

  function close() {
    looks = undefined;
    for (const place of document.querySelectorAll("[data-private]")) {
      if ("value" in place) place.value = "";
      else place.replaceChildren();
    }
    return clear?.() ?? "";
  }

  for (const event of ["pointermove", "keydown", "scroll"]) {
    document.addEventListener(event, () => { active = Date.now(); }, { passive: true });
  }
  // What was shown is not for whoever comes back to this window.
  window.addEventListener("pagehide", close);

  const { locks } = opened;
  const left = await opened.find();
  if (left) await attempt(() => open(left, { locks, takesFocus: false }));
  return async () => {
    const mine = looks;
    const told = await read(macaroon());
    if (looks === mine) draw(told);
  };
}
