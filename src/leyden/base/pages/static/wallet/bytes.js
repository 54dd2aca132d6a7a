/** Bytes and the ways they are written down. */

export const utf8 = (text) => new TextEncoder().encode(text);

/** Read UTF-8; throws where it is none. */
export const readUtf8 = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const toHex = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function fromHex(text) {
  if (text.length % 2 || !/^[0-9a-f]*$/i.test(text)) throw new TypeError("not hex");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export const toBase64 = (bytes) =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** Read base64 of either alphabet, padded or not. */
export const fromBase64 = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
    character.charCodeAt(0),
  );

export const toBase64Url = (bytes) =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

export const random = (size) => crypto.getRandomValues(new Uint8Array(size));

export const sha256 = async (bytes) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
