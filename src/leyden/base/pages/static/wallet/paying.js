/**
 * A payment that the node makes, shown until its end. No lost answer makes it again: lnd
 * is asked what became of it, by its hash.
 */

import { fromHex, toBase64Url } from "./bytes.js";
import { macaroon } from "./open_vault.js";
import { $, lnd, show } from "./page.js";
import { plural, span } from "./shown.js";

export const GRACE_S = 15; // after a payment's timeout: then its answers have been lost
const AGAIN_MS = 2_000;
const TRACK_MS = 15_000; // for what lnd knows of a payment, which it says at once
const GONE_TRIES = 3; // so often lnd says that it knows nothing, before that is believed
const SLOW_S = 10; // after its timeout, a payment hangs
const NOT_KNOWN = /payment isn't initiated/i;
const REASONS = {
  FAILURE_REASON_TIMEOUT: "No attempt arrived in time.",
  FAILURE_REASON_NO_ROUTE: "No route to the recipient was found that has enough capacity and keeps the fee limit. Raise the fee limit, or send less.",
  FAILURE_REASON_ERROR: "The payment can't be made: lnd met an error that another attempt does not fix.",
  FAILURE_REASON_INCORRECT_PAYMENT_DETAILS: "The recipient rejected it: the invoice was already paid, was cancelled, or has another amount.",
  FAILURE_REASON_INSUFFICIENT_BALANCE: "Your channels can't send this amount with its fee.",
  FAILURE_REASON_CANCELED: "It was cancelled.",
};
let following; // {began, seconds, attempts}, of the payment that is watched

export const isPaying = () => following !== undefined;

export const reasonOf = ({ failure_reason: reason }) => REASONS[reason] ?? reason;

/** Watch it no longer, while lnd goes on; tell whether one was watched. */
export function stopWatching() {
  const wasPaying = isPaying();
  following = undefined;
  return wasPaying;
}

/** Ask what is known of a payment; undefined if lnd has none with this hash. */
export async function tracked(hash) {
  const ending = new AbortController();
  try {
    const path = `/v2/router/track/${toBase64Url(fromHex(hash))}=`;
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(TRACK_MS)]);
    for await (const payment of lnd.stream("GET", path, undefined, macaroon(), signal)) {
      return payment;
    }
  } catch (error) {
    if (!NOT_KNOWN.test(error.said ?? "")) throw error;
  } finally {
    ending.abort();
  }
  return undefined;
}

/**
 * Show a payment until its end, however often its answers are lost. Gives one of {payment},
 * as it ended; {refusal}, with which lnd never began it; {unknown}, where nobody can say, with
 * what was said instead; undefined if it is watched no longer.
 *
 * @param {object} known of it already, or `before`: one of the same hash that had failed
 * @param {AsyncIterable} answers of lnd, if it was just told to pay
 */
export async function followed(hash, { known, before, seconds, answers }) {
  const mine = { began: Date.now(), seconds, attempts: 0 };
  following = mine;
  show("sending");
  $("slow").hidden = true;
  $("lost").hidden = true;
  const ticking = setInterval(() => tick(mine), 1_000);
  tick(mine);
  try {
    const end = await endOf(mine, hash, { known, before, answers });
    if (following !== mine) return undefined;
    following = undefined;
    return end;
  } finally {
    clearInterval(ticking);
  }
}

async function endOf(mine, hash, { known, before, answers }) {
  const isOver = (payment) => {
    mine.attempts = payment.htlcs?.length ?? 0;
    return ["SUCCEEDED", "FAILED"].includes(payment.status);
  };
  if (known && isOver(known)) return { payment: known };
  let refusal;
  try {
    for await (const payment of answers ?? []) {
      if (following !== mine) return undefined;
      if (isOver(payment)) return { payment };
    }
  } catch (error) {
    refusal = error;
  }
  for (let gone = 0; following === mine;) {
    try {
      const payment = await tracked(hash);
      $("lost").hidden = true;
      // One that failed before says nothing of this one.
      const isThis = payment !== undefined && payment.creation_time_ns !== before?.creation_time_ns;
      if (isThis && isOver(payment)) return { payment };
      gone = isThis ? 0 : gone + 1;
      // What lnd refused, and never heard of, was not sent. A lost answer may have overtaken
      // what was sent, which can still arrive.
      if (gone >= 1 && refusal?.said !== undefined) return { refusal };
      if (gone >= GONE_TRIES) return { unknown: "" };
    } catch (error) {
      if (error.kind !== "unreachable") return { unknown: error.message };
      if (following === mine) $("lost").hidden = false;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  return undefined;
}

function tick(mine) {
  const elapsed = (Date.now() - mine.began) / 1000;
  $("elapsed").textContent = `${plural(mine.attempts, "attempt")}, ${span(elapsed)}`;
  if (mine.seconds !== undefined && elapsed > mine.seconds + SLOW_S) $("slow").hidden = false;
}

window.addEventListener("beforeunload", (event) => {
  if (isPaying()) event.preventDefault();
});
