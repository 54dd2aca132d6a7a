/**
 * QR codes (ISO 18004), made here so that what they hold stays in this page: bytes only,
 * error correction L, the smallest of the forty versions that holds them.
 */

import { blocks, codewords } from "./qr_codewords.js";

const [L, FORMAT_MASK, FORMAT_POLYNOMIAL, VERSION_POLYNOMIAL] = [1, 0x5412, 0x537, 0x1f25];
const MASKS = [
  (x, y) => (x + y) % 2 === 0,
  (x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];
const FINDER_LIKE = ["10111010000", "00001011101"];

/** Give the rows of the code, each a list of booleans; with no mask asked for, the best. */
export function matrix(bytes, wanted) {
  const version = blocks.findIndex((_, at) => at > 0 && bytes.length <= most(at));
  if (version < 0) throw new RangeError("longer than a QR code holds");
  const bits = codewords(bytes, version).flatMap((byte) => digits(byte, 8));
  const grid = frame(version);
  place(grid, bits);
  if (wanted !== undefined) return masked(grid, version, wanted);
  const drawn = MASKS.map((_, mask) => masked(grid, version, mask));
  const faults = drawn.map(penalty);
  return drawn[faults.indexOf(Math.min(...faults))];
}

/** Draw it into an SVG element, with the margin that cameras need. */
export function draw(svg, text) {
  const rows = matrix(new TextEncoder().encode(text));
  const side = rows.length + 8;
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const cells = rows.flatMap((row, y) =>
    row.map((dark, x) => (dark ? `M${x + 4} ${y + 4}h1v1h-1z` : "")),
  );
  path.setAttribute("d", cells.join(""));
  svg.setAttribute("viewBox", `0 0 ${side} ${side}`);
  svg.replaceChildren(path);
}

const most = (version) => blocks[version].data - (version < 10 ? 2 : 3);

const digits = (number, count) =>
  Array.from({ length: count }, (_, at) => (number >> (count - 1 - at)) & 1);

/** Make an empty code: cells are booleans where they are fixed, else undefined. */
function frame(version) {
  const size = 17 + 4 * version;
  const grid = Array.from({ length: size }, () => new Array(size).fill(undefined));
  const square = (left, top, reach, isDark) => {
    for (let y = -reach; y <= reach; y += 1) {
      for (let x = -reach; x <= reach; x += 1) {
        if (grid[top + y]?.[left + x] === undefined && left + x >= 0 && left + x < size
          && top + y >= 0 && top + y < size) {
          grid[top + y][left + x] = isDark(Math.max(Math.abs(x), Math.abs(y)));
        }
      }
    }
  };
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) {
    square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
  }
  const places = alignments(version, size);
  for (const y of places) {
    for (const x of places) {
      if (grid[y][x] === undefined) square(x, y, 2, (ring) => ring !== 1);
    }
  }
  for (let at = 8; at < size - 8; at += 1) {
    grid[6][at] ??= at % 2 === 0;
    grid[at][6] ??= at % 2 === 0;
  }
  format(grid, 0); // holds its place until the mask is known
  if (version >= 7) {
    const word = (version << 12) | remainder(version, 12, VERSION_POLYNOMIAL);
    for (let at = 0; at < 18; at += 1) {
      const [far, near] = [size - 11 + (at % 3), Math.floor(at / 3)];
      grid[near][far] = grid[far][near] = ((word >> at) & 1) === 1;
    }
  }
  return grid;
}

function alignments(version, size) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => size - 7 - step * at)];
}

function format(grid, mask) {
  const told = (L << 3) | mask;
  const word = ((told << 10) | remainder(told, 10, FORMAT_POLYNOMIAL)) ^ FORMAT_MASK;
  const { length: size } = grid;
  const around = [0, 1, 2, 3, 4, 5, 7, 8]; // beside the finders, but for the timing
  for (let at = 0; at < 15; at += 1) {
    const dark = ((word >> at) & 1) === 1;
    if (at < 8) grid[around[at]][8] = grid[8][size - 1 - at] = dark;
    else grid[8][around[14 - at]] = grid[size - 15 + at][8] = dark;
  }
  grid[size - 8][8] = true;
}

function remainder(number, degree, polynomial) {
  let rest = number << degree;
  for (let bit = 31; bit >= degree; bit -= 1) {
    if ((rest >>> bit) & 1) rest ^= polynomial << (bit - degree);
  }
  return rest;
}

/** Put the bits in, two columns at a time, up and down from the right. */
function place(grid, bits) {
  const { length: size } = grid;
  let at = 0;
  let isUp = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5; // the timing has that column
    for (let step = 0; step < size; step += 1) {
      const y = isUp ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (grid[y][x] !== undefined) continue;
        grid[y][x] = bits[at] ?? 0; // a number: what the mask is laid over
        at += 1;
      }
    }
    isUp = !isUp;
  }
}

function masked(grid, version, mask) {
  const drawn = grid.map((row, y) =>
    row.map((cell, x) => (typeof cell === "number" ? (cell === 1) !== MASKS[mask](x, y) : cell)),
  );
  format(drawn, mask);
  return drawn;
}

/** Count what would confuse a camera, as the standard weighs it. */
function penalty(rows) {
  const lines = [...rows, ...rows.map((_, x) => rows.map((row) => row[x]))].map((line) =>
    line.map(Number).join(""),
  );
  let faults = 0;
  for (const line of lines) {
    for (const run of line.match(/0{5,}|1{5,}/g) ?? []) faults += run.length - 2;
    for (const pattern of FINDER_LIKE) {
      for (let at = line.indexOf(pattern); at >= 0; at = line.indexOf(pattern, at + 1)) faults += 40;
    }
  }
  let dark = 0;
  rows.forEach((row, y) => row.forEach((cell, x) => {
    dark += cell;
    if (y && x && cell === row[x - 1] && cell === rows[y - 1][x] && cell === rows[y - 1][x - 1]) {
      faults += 3;
    }
  }));
  return faults + 10 * Math.floor(Math.abs((100 * dark) / rows.length ** 2 - 50) / 5);
}
