/** The 24 words that a wallet is made of. */

import { fromBase64, random, readUtf8 } from "./bytes.js";

const WORDS = 24;
const WORD = /^[a-z]{3,8}$/;

/** Find the words in a text, numbered or not, however they are set apart. */
export function parse(text) {
  return text
    .toLowerCase()
    .split(/[\s,;.:0-9]+/)
    .filter((word) => word !== "");
}

export const isWhole = (words) => words.length === WORDS && words.every(isWord);

const isWord = (word) => WORD.test(word);

/** Find the words in what was sealed; other clients seal base64 of "word,word". */
export function unseal(text) {
  const plain = parse(text);
  if (isWhole(plain)) return plain;
  try {
    const inner = parse(readUtf8(fromBase64(text.trim())));
    return isWhole(inner) ? inner : undefined;
  } catch {
    return undefined;
  }
}

/** Choose which words are asked for: any as likely as any other. */
export function askFor(count = 3, of = WORDS) {
  const places = Array.from({ length: of }, (_, place) => place);
  const chosen = [];
  while (chosen.length < count) {
    const [at] = random(1);
    // The few numbers above the last whole multiple would favour the first places.
    if (at >= 256 - (256 % places.length)) continue;
    chosen.push(...places.splice(at % places.length, 1));
  }
  return chosen.sort((a, b) => a - b);
}
