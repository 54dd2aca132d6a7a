/**
 * What an opened vault leaves in this browser: a macaroon that may look and be paid, and
 * can't spend, in memory, for the pages of this session. The password and the macaroon
 * that it was made of are gone as soon as it is made.
 */

import { isOpen, keeper, setOpen } from "./keeping.js";
import { describe, narrowed } from "./macaroon.js";
import { Trouble } from "./trouble.js";
import * as vault from "./vault.js";

const HOURS = 12; // then it opens nothing, wherever it is
export const KEPT_MS = 15 * 60_000; // since somebody last looked
const PATIENCE_MS = 1_000;
const LONG_MS = 10_000; // where this tab has opened a vault, on a machine that is busy
const LOOKS = ["info", "offchain", "onchain", "peers", "invoices"].map((entity) => ({
  entity,
  action: "read",
}));
const RECEIVES = ["/lnrpc.Lightning/AddInvoice", "/lnrpc.Lightning/NewAddress"].map(
  (action) => ({ entity: "uri", action }),
);
const READ_ONLY = /read-?only/i;

export const bakes = ({ permissions }) =>
  permissions.some(({ entity, action }) => entity === "macaroon" && action === "generate");
const spendsNothing = ({ permissions }) => permissions.every(
  ({ entity, action }) =>
    action === "read" || RECEIVES.some((each) => each.entity === entity && each.action === action),
);

// One takes half a second to open: names say which to try first, and nothing more.
const rank = (backup) => (vault.isAdmin(backup) ? 0 : READ_ONLY.test(backup.name) ? 1 : 2);

/** Find the macaroon of the vault to look with: one that may bake one, or spends nothing. */
export async function ofVault({ node, platform }, password) {
  const kept = (await platform.backups()).filter(({ kind }) => kind === "macaroon");
  if (!kept.length) {
    throw new Trouble("form", "The vault has no macaroon. Paste one instead.");
  }
  let opened, refused;
  for (const backup of kept.sort((one, other) => rank(one) - rank(other))) {
    try {
      const found = await vault.open(node, backup, password);
      const described = describe(found);
      if (bakes(described) || spendsNothing(described)) return found;
      opened ??= found;
    } catch (error) {
      if (!(error instanceof Trouble)) throw error; // a Trouble: under another password, say
      refused ??= error;
    }
  }
  if (opened === undefined) throw refused;
  return opened; // which `looking` refuses
}

/** Make of a macaroon one that may look and be paid, until the day is over. */
export async function looking(lnd, macaroon, now) {
  // Of root key 0, so that nothing is left at the node that somebody has to revoke.
  const found = bakes(describe(macaroon))
    ? await lnd.bake(macaroon, [...LOOKS, ...RECEIVES], "0")
    : macaroon;
  if (!spendsNothing(describe(found))) {
    throw new Trouble(
      "form",
      "This macaroon can do more than read. Use the admin macaroon, or a read-only one.",
    );
  }
  const until = new Date(now.getTime() + HOURS * 3_600_000);
  return narrowed(found, `time-before ${until.toISOString().replace(/\.\d+Z$/, "Z")}`);
}

/** The memory of this session about one node; with no shared workers, of this page. */
export class Opened {
  locks = 0; // so many times it was locked: what was begun before is not kept after

  /** @param {string} token of the session: another session finds nothing */
  constructor(node, token) {
    this.place = `${node} ${token}`;
    this.port = keeper();
    this.port?.addEventListener("message", ({ data }) => {
      if (data.place === this.place && data.locked) this.locked();
    });
    this.port?.start();
    // The worker tells of what it held; this is also for what it holds not yet.
    new BroadcastChannel("signed out").addEventListener("message", () => this.locked());
    window.addEventListener("pagehide", () => this.port?.postMessage({ gone: true }));
  }

  /** Give the macaroon that an earlier page left, if there is one; count as a look. */
  find() {
    if (!this.port) return undefined;
    return new Promise((resolve) => {
      const answered = ({ data }) => {
        if (data.place !== this.place || data.locked) return;
        this.port.removeEventListener("message", answered);
        resolve(data.macaroon);
      };
      this.port.addEventListener("message", answered);
      this.port.postMessage({ find: this.place });
      // For a worker that could not be started.
      setTimeout(resolve, isOpen() ? LONG_MS : PATIENCE_MS);
    });
  }

  /** Keep it for the next page. */
  keep(macaroon, ms = KEPT_MS) {
    if (!this.port) return;
    this.port.postMessage({ keep: this.place, macaroon, ms });
    setOpen(true);
  }

  /** Go on keeping what is kept, as somebody looks; what was locked stays locked. */
  renew(macaroon, ms) {
    if (!this.port) return;
    this.port.postMessage({ keep: this.place, macaroon, ms, renews: true });
    setOpen(true);
  }

  /** Forget it, on every page of this session; on this one whether the worker lives or not. */
  lock() {
    this.port?.postMessage({ forget: this.place });
    this.locked();
  }

  locked() {
    this.locks += 1;
    setOpen(false);
    this.onlock?.();
  }
}
