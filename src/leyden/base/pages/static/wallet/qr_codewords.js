/** The codewords of a QR code of level L: bytes, and what corrects them (Reed-Solomon). */

// For versions 1 to 40: codewords of correction in each block, and how many blocks.
const CORRECTION = [
  7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28,
  28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
];
const COUNTS = [
  1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8,
  8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25,
];
const BYTES = 0b0100;
const PADS = [0xec, 0x11];
const POLYNOMIAL = 0x11d;

/** Of each version: all codewords, those of data, of correction, and the blocks. */
export const blocks = [undefined, ...CORRECTION.map((correction, at) => {
  const version = at + 1;
  const all = Math.floor(modules(version) / 8);
  return { all, correction, count: COUNTS[at], data: all - correction * COUNTS[at] };
})];

/** Count the cells that are left for data. */
function modules(version) {
  const squares = version > 1 ? Math.floor(version / 7) + 2 : 0;
  const aligned = squares && (25 * squares - 10) * squares - 55;
  return (16 * version + 128) * version + 64 - aligned - (version >= 7 ? 36 : 0);
}

/** Give all codewords in their order of writing. */
export function codewords(bytes, version) {
  const { all, correction, count, data } = blocks[version];
  const filled = padded(bytes, version, data);
  const short = Math.floor(all / count) - correction;
  const longer = all % count; // so many blocks, the last ones, have one more
  const parts = [];
  for (let at = 0, from = 0; at < count; at += 1) {
    const to = from + short + (at >= count - longer ? 1 : 0);
    parts.push(filled.slice(from, to));
    from = to;
  }
  const generator = generated(correction);
  const corrections = parts.map((part) => corrected(part, generator));
  return [...woven(parts), ...woven(corrections)];
}

function padded(bytes, version, size) {
  const digits = version < 10 ? 2 : 4; // of the length, in hex
  const hex = [
    BYTES.toString(16),
    bytes.length.toString(16).padStart(digits, "0"),
    ...Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")),
    "0", // the end, and up to a whole byte
  ].join("");
  const made = hex.match(/../g).map((pair) => parseInt(pair, 16));
  while (made.length < size) made.push(PADS[(made.length - bytes.length - digits / 2 - 1) % 2]);
  return made.slice(0, size);
}

function woven(parts) {
  const longest = Math.max(...parts.map((part) => part.length));
  return Array.from({ length: longest }, (_, at) =>
    parts.flatMap((part) => (at < part.length ? [part[at]] : [])),
  ).flat();
}

function times(left, right) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * POLYNOMIAL);
    product ^= ((right >> bit) & 1) * left;
  }
  return product;
}

function generated(degree) {
  const made = [...new Array(degree - 1).fill(0), 1];
  for (let step = 0, root = 1; step < degree; step += 1, root = times(root, 2)) {
    for (let at = 0; at < degree; at += 1) {
      made[at] = times(made[at], root) ^ (made[at + 1] ?? 0);
    }
  }
  return made;
}

function corrected(part, generator) {
  const rest = new Array(generator.length).fill(0);
  for (const byte of part) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    generator.forEach((each, at) => { rest[at] ^= times(each, factor); });
  }
  return rest;
}
