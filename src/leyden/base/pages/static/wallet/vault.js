/**
 * The vault: a node's backups, which the platform keeps and only their owner opens.
 *
 * A backup is {kind, name, value}: kind "seed" (its name is "") or "macaroon".
 */

import { sha256, toHex, utf8 } from "./bytes.js";
import * as jwe from "./jwe.js";
import { parse } from "./macaroon.js";
import * as salted from "./salted.js";
import { unseal } from "./seed.js";
import { Trouble } from "./trouble.js";

export const SHORTEST_PASSWORD = 8; // lnd's own rule
export const ADMIN = { kind: "macaroon", name: "admin" };
export const isAdmin = ({ kind, name }) => kind === ADMIN.kind && name === ADMIN.name;

const about = (node, { kind, name }) => ({ node, kind, ...(name && { name }) });

/** Seal a seed (a list of words) or a macaroon (hex) for the platform to keep. */
export async function seal(node, backup, secret, password) {
  const text = backup.kind === "seed" ? secret.join(" ") : secret;
  return jwe.seal(text, password, about(node, backup));
}

/** Open a backup: a list of words, or a macaroon in hex. */
export async function open(node, backup, password) {
  const { kind, value } = backup;
  const read = READERS[kind];
  const text = value.startsWith(salted.PREFIX)
    ? await salted.open(value, password, (found) => read(found) !== undefined)
    : await jwe.open(value, password, about(node, backup));
  const secret = read(text);
  if (secret === undefined) {
    throw new Trouble("form", `This backup was decrypted, but has no ${kind} in it.`);
  }
  return secret;
}

/** Tell whether the password opens any of these backups; the first that it opens will do. */
export async function opensAny(node, backups, password) {
  for (const backup of backups) {
    try {
      await open(node, backup, password);
      return true;
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
    }
  }
  return false;
}

const READERS = {
  seed: unseal,
  macaroon(text) {
    try {
      return toHex(parse(text).bytes);
    } catch {
      return undefined;
    }
  },
};

/**
 * Put all backups that the old password opens under the new one.
 *
 * Each new one is opened again before anyone relies on it. Gives what to send, and which
 * backups are under some other password and stay as they are.
 */
export async function reseal(node, backups, password, next, progress = () => {}) {
  const [anew, left] = [[], []];
  for (const [done, backup] of backups.entries()) {
    progress(done, backups.length);
    let secret;
    try {
      secret = await open(node, backup, password);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      left.push({ ...backup, why: error.message });
      continue;
    }
    const value = await seal(node, backup, secret, next);
    await open(node, { ...backup, value }, next);
    anew.push({
      kind: backup.kind,
      name: backup.name,
      replaces: toHex(await sha256(utf8(backup.value))),
      value,
    });
  }
  progress(backups.length, backups.length);
  return { anew, left };
}
