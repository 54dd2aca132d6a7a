/** What apps need to use a node with a macaroon: addresses and files, made in this page. */

import { fromHex, toBase64Url } from "./bytes.js";

/** Give the address that wallets scan: the node's own with the macaroon at its end. */
export function lndconnect(address, macaroon) {
  const more = address.includes("?") ? "&" : "?";
  return `${address}${more}macaroon=${toBase64Url(fromHex(macaroon))}`;
}

/** Give BTCPay Server's connection string. */
export function btcpay({ url, thumbprint }, macaroon) {
  const pinned = thumbprint ? `;certthumbprint=${thumbprint}` : "";
  return `type=lnd-rest;server=${url}/;macaroon=${macaroon}${pinned}`;
}

/** Name the file of a macaroon so that no shell has to quote it. */
export const fileName = (name) =>
  `${name.trim().replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[.-]+/, "") || "app"}.macaroon`;

/** Save a macaroon as lncli and most libraries take it: in binary. */
export function save(name, macaroon) {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([fromHex(macaroon)]));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // once the browser has read it
}
