/**
 * Opening what older clients sealed: base64 of `Salted__`, a salt, and AES-256-CBC, which
 * begins with U2FsdGVkX1. Three programs write that, and differ in how they make a key of
 * a password. Nothing is sealed like this any more: it does not notice changes.
 */

import { concat, fromBase64, readUtf8, sha256, utf8 } from "./bytes.js";
import { md5 } from "./md5.js";
import { Trouble } from "./trouble.js";

export const PREFIX = "U2FsdGVkX1";
const ROUNDS = 10_000; // what `openssl enc -pbkdf2` takes unless told otherwise
const KEY_AND_IV_BYTES = 48;

const WAYS = [
  (password, salt) => stretched(md5, password, salt), // CryptoJS
  (password, salt) => stretched(sha256, password, salt), // openssl enc
  pbkdf2, // openssl enc -pbkdf2
];

/** Decrypt; `isWhole` tells whether a text is what it should be. */
export async function open(sealed, password, isWhole) {
  let bytes;
  try {
    bytes = fromBase64(sealed.replaceAll(/\s/g, ""));
  } catch {
    throw new Trouble("form", "This backup is damaged: it is not base64.");
  }
  const salt = bytes.subarray(8, 16);
  const encrypted = bytes.subarray(16);
  if (!encrypted.length || encrypted.length % 16) {
    throw new Trouble("form", "This backup is damaged: parts of it are missing.");
  }
  for (const way of WAYS) {
    const text = await attempt(await way(utf8(password), salt), encrypted);
    // A wrong key is noticed by chance only, so what comes out is looked at as well.
    if (text !== undefined && isWhole(text)) return text;
  }
  throw new Trouble("password", "Wrong password for this backup.");
}

async function attempt(keyAndIv, encrypted) {
  const key = await crypto.subtle.importKey(
    "raw",
    keyAndIv.subarray(0, 32),
    "AES-CBC",
    false,
    ["decrypt"],
  );
  const iv = keyAndIv.subarray(32);
  try {
    return readUtf8(
      new Uint8Array(await crypto.subtle.decrypt({ name: "AES-CBC", iv }, key, encrypted)),
    );
  } catch {
    return undefined;
  }
}

async function stretched(hash, password, salt) {
  let made = new Uint8Array();
  let last = new Uint8Array();
  while (made.length < KEY_AND_IV_BYTES) {
    last = await hash(concat(last, password, salt));
    made = concat(made, last);
  }
  return made.subarray(0, KEY_AND_IV_BYTES);
}

async function pbkdf2(password, salt) {
  const material = await crypto.subtle.importKey("raw", password, "PBKDF2", false, [
    "deriveBits",
  ]);
  return new Uint8Array(
    await crypto.subtle.deriveBits(
      { name: "PBKDF2", hash: "SHA-256", salt, iterations: ROUNDS },
      material,
      KEY_AND_IV_BYTES * 8,
    ),
  );
}
