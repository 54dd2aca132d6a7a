/** MD5 (RFC 1321): broken, and needed to open what CryptoJS once sealed. Nothing else. */

const SHIFTS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
];
const SINES = Array.from({ length: 64 }, (_, i) =>
  Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32),
);
const START = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];

export function md5(bytes) {
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const words = new DataView(padded.buffer);
  words.setUint32(padded.length - 8, bytes.length << 3, true);
  words.setUint32(padded.length - 4, bytes.length >>> 29, true);
  const state = Uint32Array.from(START);
  for (let at = 0; at < padded.length; at += 64) block(state, words, at);
  return new Uint8Array(state.buffer);
}

function block(state, words, start) {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i += 1) {
    const round = i >> 4;
    const [mixed, word] = [
      [(b & c) | (~b & d), i],
      [(d & b) | (~d & c), (5 * i + 1) % 16],
      [b ^ c ^ d, (3 * i + 5) % 16],
      [c ^ (b | ~d), (7 * i) % 16],
    ][round];
    const sum = (a + mixed + SINES[i] + words.getUint32(start + 4 * word, true)) >>> 0;
    const shift = SHIFTS[round][i % 4];
    [a, d, c] = [d, c, b];
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) >>> 0;
  }
  [a, b, c, d].forEach((value, i) => {
    state[i] += value;
  });
}
