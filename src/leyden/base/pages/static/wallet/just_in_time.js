/**
 * What it costs to be paid by a channel that the payment opens. The command buys it: lnd
 * asks whoever accepts channels over a WebSocket, and reads the macaroon from the name of
 * a subprotocol. It confirms none, and so browsers end the connection.
 */

import { Trouble } from "./trouble.js";

const PATIENCE_MS = 20_000;
const MSAT = 1_000;

/** Ask the platform for the fee of a payment to a node, in sats; 0 if none is needed. */
export async function openingFee(sats, key) {
  const { fee_amount_msat: fee } = await post({ amount_msat: sats * MSAT, pubkey: key });
  return Math.ceil(fee / MSAT);
}

async function post(body) {
  let answer, content;
  try {
    answer = await fetch("/api/v1/fee", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      credentials: "omit", // anybody may ask
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    content = await answer.json();
  } catch {
    throw new Trouble("platform", "Could not reach the platform. Retry in a moment.");
  }
  if (!answer.ok) throw new Trouble("platform", `The platform offers no channel: ${content.message}`);
  return content;
}
