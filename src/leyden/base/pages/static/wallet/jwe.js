/**
 * Sealing under a password: compact JWE (RFC 7516), which every language opens.
 *
 * PBES2-HS512+A256KW makes a key of the password and wraps a fresh one with it, A256GCM
 * encrypts. What the text is, and of which node, stands in the protected header: it can
 * be read by anyone and changed by nobody, so one backup cannot pass for another.
 *
 * The browser's own WebCrypto does all of it; see docs/decisions.
 */

import { concat, fromBase64, random, readUtf8, toBase64Url, utf8 } from "./bytes.js";
import { Trouble } from "./trouble.js";

const ALG = "PBES2-HS512+A256KW";
const ENC = "A256GCM";
export const ROUNDS = 600_000;
const FEWEST_ROUNDS = 1_000;
const MOST_ROUNDS = 10_000_000; // some seconds; more would only hang the page
const TAG_BYTES = 16;

/** Encrypt a text under a password; `about` is {node, kind, name}. */
export async function seal(text, password, about) {
  const salt = random(16);
  const iv = random(12);
  const header = {
    alg: ALG,
    enc: ENC,
    p2s: toBase64Url(salt),
    p2c: ROUNDS,
    leyden: about,
  };
  const shown = toBase64Url(utf8(JSON.stringify(header)));
  const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, true, [
    "encrypt",
  ]);
  const wrapping = await keyOf(password, salt, ROUNDS, "wrapKey");
  const wrapped = await crypto.subtle.wrapKey("raw", key, wrapping, "AES-KW");
  const encrypted = new Uint8Array(
    await crypto.subtle.encrypt(gcm(iv, shown), key, utf8(text)),
  );
  const end = encrypted.length - TAG_BYTES;
  const parts = [
    new Uint8Array(wrapped),
    iv,
    encrypted.subarray(0, end),
    encrypted.subarray(end),
  ];
  return [shown, ...parts.map(toBase64Url)].join(".");
}

/** Decrypt what was sealed as this backup of this node, or say why not. */
export async function open(sealed, password, about) {
  const [shown, ...rest] = sealed.split(".");
  const header = read(shown);
  check(header, about);
  let salt, parts;
  try {
    salt = fromBase64(header.p2s);
    parts = rest.map(fromBase64);
  } catch {
    throw damaged();
  }
  const [wrapped, iv, encrypted, tag] = parts;
  if (parts.length !== 4 || iv.length !== 12 || tag.length !== TAG_BYTES) throw damaged();
  const wrapping = await keyOf(password, salt, header.p2c, "unwrapKey");
  let key;
  try {
    key = await crypto.subtle.unwrapKey(
      "raw",
      wrapped,
      wrapping,
      "AES-KW",
      "AES-GCM",
      false,
      ["decrypt"],
    );
  } catch {
    throw new Trouble("password", "Wrong password for this backup.");
  }
  try {
    const whole = concat(encrypted, tag);
    return readUtf8(
      new Uint8Array(await crypto.subtle.decrypt(gcm(iv, shown), key, whole)),
    );
  } catch {
    throw damaged();
  }
}

const gcm = (iv, shown) => ({ name: "AES-GCM", iv, additionalData: utf8(shown) });

const damaged = () =>
  new Trouble("form", "This backup is damaged: parts of it are missing or changed.");

function read(shown) {
  try {
    return JSON.parse(readUtf8(fromBase64(shown)));
  } catch {
    throw damaged();
  }
}

function check(header, about) {
  if (header?.alg !== ALG || header.enc !== ENC || "zip" in header || "crit" in header) {
    throw new Trouble("form", `This backup can't be opened here: only ${ALG} with ${ENC} can.`);
  }
  const rounds = header.p2c;
  if (!Number.isInteger(rounds) || rounds < FEWEST_ROUNDS || rounds > MOST_ROUNDS) {
    throw new Trouble("form", "This backup has too many PBKDF2 rounds.");
  }
  // One that tells nothing was made with another program: it may be what it is taken for.
  const told = header.leyden ?? {};
  for (const [field, word] of [
    ["node", "another node"],
    ["kind", "something else"],
    ["name", "another name"],
  ]) {
    if ((told[field] ?? about[field] ?? "") !== (about[field] ?? "")) {
      throw new Trouble("another", `This is a backup of ${word}, so it is not opened here.`);
    }
  }
}

async function keyOf(password, salt, rounds, use) {
  const material = await crypto.subtle.importKey("raw", utf8(password), "PBKDF2", false, [
    "deriveKey",
  ]);
  return crypto.subtle.deriveKey(
    {
      name: "PBKDF2",
      hash: "SHA-512",
      salt: concat(utf8(ALG), new Uint8Array(1), salt),
      iterations: rounds,
    },
    material,
    { name: "AES-KW", length: 256 },
    false,
    [use],
  );
}
