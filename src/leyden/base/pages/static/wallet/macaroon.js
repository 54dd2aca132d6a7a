/**
 * Macaroons as lnd bakes them, version 2, binary.
 *
 *   2  field* 0   (field* 0)*   0   6 32 signature
 *      header     caveats
 *
 * A field is its kind, its length (a varint) and its content. Whoever holds a macaroon
 * can narrow it: the signature of the longer one is an HMAC under that of the shorter,
 * so no server is asked, and nobody can take the caveat off again.
 */

import { concat, fromBase64, fromHex, readUtf8, toHex, utf8 } from "./bytes.js";
import { Trouble } from "./trouble.js";

const VERSION = 2;
const [END, IDENTIFIER, SIGNATURE] = [0, 2, 6];
const SIGNATURE_BYTES = 32;
const LND = 3; // the first byte of an identifier of lnd's; protobuf follows
const [STORAGE_ID, OPERATIONS] = [2, 3];
const [ENTITY, ACTIONS] = [1, 2];

/** Find a macaroon in a text: hex or base64 of either alphabet. */
export function parse(text) {
  const trimmed = text.trim();
  for (const decode of [fromHex, fromBase64]) {
    try {
      const found = read(decode(trimmed));
      if (found !== undefined) return found;
    } catch {
      // It may be written in the other way.
    }
  }
  throw new Trouble("form", "Not a valid macaroon: macaroons are in hex and begin with 0201.");
}

/** Give the macaroon with a caveat more, in hex. */
export async function narrowed(macaroon, caveat) {
  const { bytes, signature } = parse(macaroon);
  const id = utf8(caveat);
  const key = await crypto.subtle.importKey(
    "raw",
    signature,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = new Uint8Array(await crypto.subtle.sign("HMAC", key, id));
  const before = bytes.subarray(0, -(SIGNATURE_BYTES + 3)); // the end, the kind, the length
  return toHex(
    concat(
      before,
      Uint8Array.of(IDENTIFIER, ...varint(id.length)),
      id,
      Uint8Array.of(END, END, SIGNATURE, SIGNATURE_BYTES),
      signed,
    ),
  );
}

/** Say what a macaroon is: {rootKeyId, permissions, caveats}. */
export function describe(macaroon) {
  const { identifier, caveats } = parse(macaroon);
  if (identifier[0] !== LND) throw new Trouble("form", "This macaroon is not from lnd.");
  const fields = protobuf(identifier.subarray(1));
  const permissions = fields
    .filter(([kind]) => kind === OPERATIONS)
    .flatMap(([, operation]) => {
      const inner = protobuf(operation);
      const entity = inner.find(([kind]) => kind === ENTITY)?.[1] ?? new Uint8Array();
      return inner
        .filter(([kind]) => kind === ACTIONS)
        .map(([, action]) => ({ entity: readUtf8(entity), action: readUtf8(action) }));
    });
  const id = fields.find(([kind]) => kind === STORAGE_ID)?.[1] ?? utf8("0");
  return { rootKeyId: readUtf8(id), permissions, caveats };
}

function read(bytes) {
  if (bytes[0] !== VERSION) return undefined;
  let at = 1;
  const sections = [[]];
  while (at < bytes.length) {
    const kind = bytes[at];
    at += 1;
    if (kind === END) {
      sections.push([]);
      continue;
    }
    const [size, from] = length(bytes, at);
    const content = bytes.subarray(from, from + size);
    if (content.length !== size) return undefined;
    at = from + size;
    if (kind === SIGNATURE) {
      if (size !== SIGNATURE_BYTES || at !== bytes.length) return undefined;
      return whole(bytes, sections, content);
    }
    sections.at(-1).push([kind, content]);
  }
  return undefined;
}

function whole(bytes, sections, signature) {
  const idOf = (section) => section.find(([kind]) => kind === IDENTIFIER)?.[1];
  const [header, ...rest] = sections;
  const identifier = idOf(header);
  if (identifier === undefined) return undefined;
  const caveats = rest.filter((section) => section.length).map((section) =>
    readUtf8(idOf(section)),
  );
  return { bytes, identifier, caveats, signature };
}

/** Read the fields of a protobuf message that hold bytes. */
function protobuf(bytes) {
  const fields = [];
  let at = 0;
  while (at < bytes.length) {
    const [tag, from] = length(bytes, at);
    if (tag % 8 !== 2) throw new Trouble("form", "This macaroon is not from lnd.");
    const [size, start] = length(bytes, from);
    fields.push([tag >> 3, bytes.subarray(start, start + size)]);
    at = start + size;
  }
  return fields;
}

function length(bytes, at) {
  let size = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[at];
    at += 1;
    size += (byte & 0x7f) << shift;
    if (byte < 0x80) return [size, at];
  }
  throw new Trouble("form", "This macaroon is damaged.");
}

function varint(size) {
  const bytes = [];
  for (; size >= 0x80; size >>>= 7) bytes.push((size & 0x7f) | 0x80);
  return [...bytes, size];
}
