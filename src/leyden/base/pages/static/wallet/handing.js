/** A macaroon as it is handed to an app: as a file, as a QR code, in words; on demand. */

import { btcpay, fileName, lndconnect, save } from "./connecting.js";
import { $, onClick } from "./page.js";
import { draw } from "./qr.js";

const { url, lndconnect: address, thumbprint } = $("wallet").dataset;
// Zeus asks over REST, and trusts what its phone does.
const ADDRESSES = { zeus: url.replace(/^https/, "lndconnect") };
let handed; // {macaroon, name, app}, until it is hidden

/** Offer a macaroon to an app, whose steps are shown. */
export function hand(macaroon, { app, name, title }) {
  hide();
  handed = { macaroon, app, name: fileName(name || app) };
  for (const place of document.querySelectorAll("[data-fill=file]")) {
    place.textContent = handed.name;
  }
  for (const recipe of document.querySelectorAll("[data-recipe]")) {
    recipe.hidden = recipe.dataset.recipe !== app;
  }
  $("made").hidden = false;
  const heading = $("made").querySelector("h2");
  heading.textContent = title;
  heading.focus();
}

/** Forget it, and take it off the page. */
export function hide() {
  handed = undefined;
  $("made").hidden = true;
  toggle("show-code", "code-shown", "QR code", false);
  toggle("show-hex", "hex-shown", "macaroon", false);
  for (const place of document.querySelectorAll("[data-shown]")) {
    place.textContent = "";
    place.parentElement.hidden = true;
  }
}

const scanned = () => lndconnect(ADDRESSES[handed.app] ?? address, handed.macaroon);
const connection = () => btcpay({ url, thumbprint }, handed.macaroon);

/** Open or close what a button shows; what is closed holds nothing. */
function toggle(button, place, what, isOpen) {
  $(place).hidden = !isOpen;
  $(button).textContent = `${isOpen ? "Hide" : "Show"} ${what}`;
  $(button).setAttribute("aria-expanded", String(isOpen));
  if (!isOpen) $(place).firstElementChild.replaceChildren();
}

onClick("show-code", async () => {
  const isOpen = $("code-shown").hidden;
  toggle("show-code", "code-shown", "QR code", isOpen);
  if (isOpen) draw($("code"), scanned());
});

onClick("show-hex", async () => {
  const isOpen = $("hex-shown").hidden;
  toggle("show-hex", "hex-shown", "macaroon", isOpen);
  if (isOpen) $("baked").textContent = handed.macaroon;
});

onClick("copy", async () => navigator.clipboard.writeText(handed.macaroon));
onClick("copy-address", async () => navigator.clipboard.writeText(scanned()));
onClick("hide", async () => hide());

for (const button of document.querySelectorAll("[data-save]")) {
  button.addEventListener("click", () => save(handed.name, handed.macaroon));
  button.disabled = false;
}
for (const button of document.querySelectorAll("[data-secret-copy]")) {
  button.addEventListener("click", () => navigator.clipboard.writeText(connection()));
}
for (const button of document.querySelectorAll("[data-secret-show]")) {
  button.addEventListener("click", () => {
    const place = document.querySelector("[data-shown]");
    const isOpen = place.parentElement.hidden;
    place.textContent = isOpen ? connection() : "";
    place.parentElement.hidden = !isOpen;
    button.textContent = isOpen ? "Hide" : "Show";
  });
}

window.addEventListener("pagehide", hide);
