/**
 * The platform's side: what it knows of the node, and the backups that it keeps. Only
 * ciphertext is given to these functions; nothing else of this folder talks to it.
 */

import { Trouble } from "./trouble.js";

const PATIENCE_MS = 20_000;
const SIGNED_OUT =
  "You are signed out. Sign in again in another window, then retry here. Nothing was lost.";

export class Platform {
  /** @param {string} path of this node's wallet @param {string} token of this session */
  constructor(path, token) {
    this.path = path;
    this.token = token;
    this.clockAheadMs = 0; // how far the platform's clock is ahead of this machine's
  }

  /** What the platform knows of the node, as far as it matters to whom calls it. */
  async facts() {
    return this.call("GET", "facts");
  }

  /** All backups that are kept, as [{kind, name, value, created}]. */
  async backups() {
    return (await this.call("GET", "backups")).backups;
  }

  async keep({ kind, name }, value) {
    return this.call("POST", "backups", { kind, name, value });
  }

  async reseal(anew) {
    return this.call("POST", "reseal", { anew: JSON.stringify(anew) });
  }

  async call(method, path, fields) {
    let answer, content;
    try {
      answer = await fetch(`${this.path}/${path}`, {
        method,
        headers: { accept: "application/json" },
        body: fields && new URLSearchParams({ token: this.token, ...fields }),
        cache: "no-store",
        redirect: "manual", // to the sign-in page
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      if (answer.type === "opaqueredirect") throw new Trouble("platform", SIGNED_OUT);
      content = await answer.json();
    } catch (error) {
      if (error instanceof Trouble) throw error;
      if (answer?.status === 403) {
        throw new Trouble("platform", "This page is out of date. Reload it.");
      }
      throw new Trouble(
        "platform",
        "Could not reach the platform. Nothing was lost: retry in a moment.",
      );
    }
    const date = Date.parse(answer.headers.get("date") ?? "");
    if (date) this.clockAheadMs = date - Date.now();
    if (!answer.ok) {
      throw new Trouble("platform", `The platform rejected this: ${content.message}`);
    }
    return content;
  }

  /** The time as the platform has it, which nodes share more likely than this machine. */
  now() {
    return new Date(Date.now() + this.clockAheadMs);
  }
}
