/** What a macaroon may do: the presets of the bakery, and lnd's words for caveats. */

import { Trouble } from "./trouble.js";

const may = (action, ...entities) => entities.map((entity) => ({ entity, action }));

const EVERYTHING = [
  "onchain",
  "offchain",
  "address",
  "message",
  "peers",
  "info",
  "invoices",
  "signer",
  "macaroon",
];

/** All that can be allowed, for a macaroon of one's own choice. */
export const CHOICES = EVERYTHING.flatMap((entity) => [
  ...may("read", entity),
  ...may("write", entity),
  ...(["signer", "macaroon"].includes(entity) ? may("generate", entity) : []),
]);

export const PRESETS = {
  admin: CHOICES,
  "read-only": may("read", ...EVERYTHING),
  invoices: [
    ...may("read", "address", "invoices", "onchain"),
    ...may("write", "address", "invoices"),
  ],
  shop: [
    ...may("read", "address", "info", "invoices", "offchain", "onchain"),
    ...may("write", "address", "invoices"),
  ],
  payments: [
    ...may("read", "info", "offchain", "invoices"),
    ...may("write", "offchain"),
  ],
  accounts: [
    ...may("read", "info", "invoices", "offchain"),
    ...may("write", "invoices", "offchain"),
  ],
  wallet: CHOICES.filter(({ entity }) => entity !== "macaroon"),
};

/** Give a preset's permissions, or those of a list of "entity:action". */
export function permissions(preset, chosen = []) {
  if (preset !== "custom") return PRESETS[preset];
  const known = new Map(CHOICES.map((each) => [`${each.entity}:${each.action}`, each]));
  const found = chosen.map((word) => known.get(word)).filter(Boolean);
  if (!found.length) throw new Trouble("form", "Permissions: choose at least one.");
  return found;
}

/** Name the preset that has exactly these permissions, if one has. */
export function presetOf(granted) {
  const written = (list) => list.map(({ entity, action }) => `${entity}:${action}`).sort().join();
  return Object.keys(PRESETS).find((name) => written(PRESETS[name]) === written(granted));
}

/** Make lnd's caveats of an address and a time; both may be missing. */
export function caveats({ address, until, now }) {
  const made = [];
  if (until !== undefined) {
    if (!(until.getTime() > now.getTime())) {
      throw new Trouble("form", "Expires: must be in the future.");
    }
    made.push(`time-before ${until.toISOString().replace(/\.\d+Z$/, "Z")}`);
  }
  if (address) {
    const isRange = address.includes("/");
    if (!/^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(address)) {
      throw new Trouble("form", "IP address: must look like 192.0.2.7 or 192.0.2.0/24.");
    }
    made.push(`${isRange ? "iprange" : "ipaddr"} ${address}`);
  }
  return made;
}

/** Choose a root key for a new macaroon: one of its own, so that it can be revoked alone. */
export function nextRootKey(ids) {
  const highest = ids.map(BigInt).reduce((most, id) => (id > most ? id : most), 0n);
  return String(highest + 1n);
}
