/**
 * Why a node could not be called. A browser does not tell pages why a call failed, so
 * what it keeps to itself is found out by asking the platform and by elimination.
 */

const PATIENCE_MS = 8_000;
const UP = ["waiting_init", "waiting_unlock", "starting", "running"];
const COMING = ["provisioning", "restarting", "updating"];
export const SKEW_MS = 5 * 60_000;

/**
 * Give the reasons, likeliest first, and what the platform knows:
 *
 *   down         lnd is not up
 *   coming       lnd is about to be
 *   closed       its REST is switched off
 *   unlisted     the whitelist lacks this browser's address
 *   origin       lnd is there and does not let pages of this dashboard talk to it
 *   certificate  the browser does not trust the platform's authority
 *   away         none of these: the network between here and there
 *   clock        this machine's clock is off, which makes certificates look invalid
 */
export async function diagnose(lnd, platform) {
  const facts = await platform.facts();
  const skewed = Math.abs(platform.clockAheadMs) > SKEW_MS ? ["clock"] : [];
  const reasons = [...found(facts), ...skewed];
  if (reasons.length) return { facts, reasons };
  if (await answersAnyone(lnd)) return { facts, reasons: ["origin"] };
  return { facts, reasons: facts.authority ? ["certificate", "away"] : ["away"] };
}

function found(facts) {
  if (COMING.includes(facts.status)) return ["coming"];
  if (!UP.includes(facts.status)) return ["down"];
  if (!facts.rest) return ["closed"];
  if (!facts.listed) return ["unlisted"];
  return [];
}

/** Tell whether there is an answer, which a page of another origin may not read. */
export async function answersAnyone(lnd) {
  try {
    await fetch(`${lnd.url}/v1/state`, {
      mode: "no-cors",
      credentials: "omit",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return true;
  } catch {
    return false;
  }
}
