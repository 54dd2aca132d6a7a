/**
 * Whether this browser trusts the platform's certificates by now. Some read a new root at
 * once; those that read it at their start come back to this page afterwards.
 */

import { answersAnyone } from "./diagnosis.js";

const LOOK_EVERY_MS = 3_000;

/** Look again and again while the section is shown, and call `then` once it does. */
export async function untilTrusted(lnd, section, then) {
  for (const place of section.querySelectorAll("[data-origin]")) {
    place.textContent = location.origin;
  }
  if (section.dataset.looking) return;
  section.dataset.looking = "yes";
  try {
    while (!section.hidden) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      if (section.hidden || document.visibilityState === "hidden") continue;
      if (await answersAnyone(lnd)) {
        section.hidden = true;
        then();
      }
    }
  } finally {
    delete section.dataset.looking;
  }
}
