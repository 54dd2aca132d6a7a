/** What somebody pastes to be paid: an invoice, an address, or a BIP21 URI with either. */

import { Trouble } from "./trouble.js";

const INVOICE = /^ln(bc|tb|tbs|bcrt|sb)\d*[munp]?1[02-9ac-hj-np-z]+$/i;
const LNURL = /^lnurl1|^lnurlp:|^[\w.+-]+@[\w-]+(\.[\w-]+)+$/i;
const KNOWN = ["amount", "label", "message", "lightning", "lno", "pj", "pjos"];

/**
 * Read it: {invoice, address, sats, message}, each if it is there, or {lnurl}, which names a
 * server of the recipient's. Whether it is of this node's network, and not a slip of the
 * fingers, lnd says.
 */
export function destination(text) {
  const trimmed = text.trim().replace(/^lightning:(\/\/)?/i, "");
  if (trimmed === "") throw new Trouble("form", "Paste an invoice or an address.");
  if (LNURL.test(trimmed)) return { lnurl: trimmed };
  if (INVOICE.test(trimmed)) return { invoice: trimmed.toLowerCase() };
  if (/^bitcoin:/i.test(trimmed)) return uri(trimmed);
  if (!/^[a-z0-9]{14,110}$/i.test(trimmed)) {
    throw new Trouble("form", "Not an invoice, an address or a bitcoin: URI. Nothing was sent.");
  }
  return { address: trimmed };
}

/** Read a BIP21 URI; those in QR codes may be in capitals. */
function uri(text) {
  const [address, query = ""] = text.replace(/^bitcoin:(\/\/)?/i, "").split("?");
  const said = new Map();
  for (const [name, value] of new URLSearchParams(query)) said.set(name.toLowerCase(), value);
  const needed = [...said.keys()].find((name) => name.startsWith("req-") && !KNOWN.includes(name.slice(4)));
  if (needed) {
    throw new Trouble("form", `This URI needs “${needed}”, which this page does not know. Nothing was sent.`);
  }
  const invoice = said.get("lightning");
  const amount = said.get("amount");
  const found = {
    ...(address && { address }),
    ...(invoice && INVOICE.test(invoice) && { invoice: invoice.toLowerCase() }),
    ...(amount !== undefined && { sats: satsOf(amount) }),
    message: said.get("message") ?? said.get("label") ?? "",
  };
  if (!found.address && !found.invoice) {
    throw new Trouble("form", "This URI has no address. Nothing was sent.");
  }
  return found;
}

/** Read bitcoins as sats, without the faults of floating numbers. */
function satsOf(text) {
  const [, coins, decimals = ""] = text.match(/^(\d{1,8})(?:\.(\d{0,8}))?$/) ?? [];
  const amount = Number(coins) * 100_000_000 + Number(decimals.padEnd(8, "0"));
  if (!(amount > 0)) {
    throw new Trouble("form", `amount: “${text}” is not an amount of bitcoins. Nothing was sent.`);
  }
  return amount;
}

/** Quote a word of a command, as a POSIX shell reads it. */
export const shell = (word) =>
  (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Write a BIP21 URI. */
export function bip21({ address, sats, message, invoice }) {
  const coins = sats && `${Math.floor(sats / 100_000_000)}.${String(sats % 100_000_000).padStart(8, "0")}`;
  const said = Object.entries({ amount: coins, message, lightning: invoice })
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `bitcoin:${address}${said.length ? "?" : ""}${said.join("&")}`;
}
