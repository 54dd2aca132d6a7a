/**
 * A shared worker that keeps what an opened vault left: for each node and session a
 * macaroon that can't spend, and only for a while. Its memory is all there is: nothing is
 * stored, and it ends with the last page of the dashboard, or seconds after.
 *
 *   {find: place}                 answered by {place, macaroon}, or by {place}
 *   {keep: place, macaroon, ms}   for so long after the last look
 *                                 {renews: true}: only if something is kept already
 *   {forget: place}               told to every page: {place, locked: true}
 *
 * When somebody signs out, all of it is forgotten.
 */

const kept = new Map();
const pages = new Set();

new BroadcastChannel("signed out").addEventListener("message", () => {
  for (const place of [...kept.keys()]) forget(place);
});

self.addEventListener("connect", ({ ports: [page] }) => {
  pages.add(page);
  page.addEventListener("message", ({ data }) => {
    if (data.keep) keep(data.keep, data);
    if (data.forget) forget(data.forget);
    if (data.gone) pages.delete(page);
    if (data.find) {
      const found = kept.get(data.find);
      if (found) keep(data.find, found);
      page.postMessage({ place: data.find, macaroon: found?.macaroon });
    }
  });
  page.start();
});

/** Keep it for as long as the page does that somebody used last. */
function keep(place, { macaroon, ms, renews }) {
  const before = kept.get(place);
  if (renews && !before) return; // it was locked, which its page does not know yet
  clearTimeout(before?.ends);
  const now = Date.now();
  const until = Math.max(now + ms, before?.until ?? 0);
  const ends = setTimeout(forget, until - now, place);
  kept.set(place, { macaroon, ms, until, ends });
}

function forget(place) {
  clearTimeout(kept.get(place)?.ends);
  kept.delete(place);
  for (const page of pages) page.postMessage({ place, locked: true });
}
