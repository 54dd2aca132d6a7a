/** Amounts, times and channels as pages of a node show them. */

/** Tell whether lnd gave an alias: in its place it may say why there is none. */
export const hasAlias = (alias) => Boolean(alias) && !/^unable to lookup peer alias/.test(alias);

/** Write an amount, of thousandths only where there are some: 1,000 sat, 1.5 sat. */
export const sats = (number) =>
  `${Number(number).toLocaleString("en", { maximumFractionDigits: 3 })} sat`;

/** Write a change as accounts list it: +1,000 sat, −12 sat. */
export const signed = (number) =>
  `${number > 0 ? "+" : number < 0 ? "−" : ""}${sats(Math.abs(number))}`;

export const plural = (count, noun) =>
  `${Number(count).toLocaleString("en")} ${noun}${Number(count) === 1 ? "" : "s"}`;

/** Write a time of lnd's, in seconds since 1970, in the reader's zone. */
export const when = (seconds) => new Date(seconds * 1000).toLocaleString(undefined, {
  dateStyle: "medium",
  timeStyle: "short",
});

/** Write for how long: 3 days, 5 h, 40 min, 12 s. */
export function span(seconds) {
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} days`;
  if (seconds >= 7_200) return `${Math.floor(seconds / 3_600)} h`;
  if (seconds >= 120) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds)} s`;
}

/** Name a peer: by its alias, or the beginning of its key. */
export function peerName(key, alias) {
  return hasAlias(alias) ? alias : `${key.slice(0, 16)}…`;
}

/** Fill places of a part that are marked `data-NAME`; the others are for styles. */
export function fillIn(part, facts) {
  for (const [name, text] of Object.entries(facts)) {
    for (const place of part.querySelectorAll(`[data-${name}]`)) place.textContent = text;
  }
  return part;
}

/** Read an amount as people type it; undefined where it is no whole number of sats. */
export function typedSats(text) {
  const typed = text.trim();
  if (!/^\d+$|^\d{1,3}([,\s]\d{3})+$/.test(typed)) return undefined; // 1,5 is not 15
  const digits = typed.replaceAll(/[,\s]/g, "");
  return digits.length <= 16 ? Number(digits) : undefined;
}
