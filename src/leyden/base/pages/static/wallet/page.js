/**
 * What the pages of this folder share: where the node is, steps, and words when
 * something goes wrong. Secrets live in variables of a page and end with it.
 */

import { diagnose } from "./diagnosis.js";
import { Lnd } from "./lnd.js";
import { Platform } from "./platform.js";
import { inWords, Trouble } from "./trouble.js";
import { untilTrusted } from "./trust.js";
import { SHORTEST_PASSWORD } from "./vault.js";

const root = document.getElementById("wallet");
const alertBox = document.getElementById("wrong");
const progressBox = document.getElementById("progress");
const WAIT_MS = 500;

export const node = root.dataset.node;
export const lnd = new Lnd(root.dataset.url);
export const platform = new Platform(root.dataset.platform, root.dataset.token);

export const $ = (id) => document.getElementById(id);

/** Show one step of the page, and put the keyboard there if somebody led there. */
export function show(step, { takesFocus = true } = {}) {
  for (const section of root.querySelectorAll("[data-step]")) {
    section.hidden = section.dataset.step !== step;
  }
  if (!takesFocus) return;
  const heading = root.querySelector(`[data-step="${step}"] h2`);
  heading?.setAttribute("tabindex", "-1");
  heading?.focus();
}

/** Say what is being done; with nothing, that nothing is. */
export function progress(words = "") {
  progressBox.textContent = words;
  progressBox.hidden = words === "";
}

let last; // what was attempted, for another try

/** Do it; say what went wrong; tell whether it went well. */
export async function attempt(work) {
  last = work;
  clear();
  root.setAttribute("aria-busy", "true");
  const buttons = [...root.querySelectorAll("button:not([disabled])")];
  for (const button of buttons) button.disabled = true;
  try {
    await work();
    return true;
  } catch (error) {
    await explain(error);
    return false;
  } finally {
    for (const button of buttons) button.disabled = false;
    root.removeAttribute("aria-busy");
    progress();
  }
}

/** Do it when the form is sent, which never leaves this page. */
export function onSubmit(form, work) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(work);
  });
  for (const button of form.querySelectorAll("button[data-waits]")) {
    button.disabled = false; // until now a click could have done nothing
  }
}

export function onClick(id, work) {
  $(id).addEventListener("click", () => attempt(work));
  $(id).disabled = false;
}

/** Give the new password that was typed twice, or say what is wrong with it. */
export function newPassword(first, second) {
  if ($(first).value.length < SHORTEST_PASSWORD) {
    throw new Trouble(
      "form",
      `The password must have at least ${SHORTEST_PASSWORD} characters; longer is better.`,
    );
  }
  if ($(first).value !== $(second).value) {
    throw new Trouble("form", "The passwords don't match.");
  }
  return $(first).value;
}

/** Empty fields in which something secret was typed. */
export function wipe(...ids) {
  for (const id of ids) $(id).value = "";
}

/** Wait until lnd has reached one of these states; two minutes, unless it may take long. */
export async function reach(states, { mayTakeLong = false } = {}) {
  for (let tries = 0; mayTakeLong || tries < 240; tries += 1) {
    try {
      const state = await lnd.state();
      if (states.includes(state)) return state;
    } catch (error) {
      // lnd closes its first door before it opens the next.
      if (error.kind !== "unreachable") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
  throw new Trouble("refused", "lnd is taking a long time to start. See its log.");
}

/** Make a list of elements of texts. */
export function fill(list, texts, tag = "li") {
  list.replaceChildren(
    ...texts.map((text) => {
      const item = document.createElement(tag);
      item.textContent = text;
      return item;
    }),
  );
}

function clear() {
  alertBox.hidden = true;
  for (const section of root.querySelectorAll("[data-reason]")) section.hidden = true;
  $("unreachable").hidden = true;
  $("trusted-now").hidden = true;
}

function sayTrusted() {
  for (const section of root.querySelectorAll("[data-reason]")) section.hidden = true;
  $("trusted-now").hidden = false;
}

async function explain(error) {
  alertBox.textContent = inWords(error);
  alertBox.hidden = false;
  if (error.kind !== "unreachable") {
    alertBox.scrollIntoView({ block: "nearest" });
    return;
  }
  try {
    const { facts, reasons } = await diagnose(lnd, platform);
    for (const section of root.querySelectorAll("[data-reason]")) {
      section.hidden = !reasons.includes(section.dataset.reason);
    }
    for (const place of root.querySelectorAll("[data-fact]")) {
      place.textContent = facts[place.dataset.fact].replaceAll?.("_", " ");
    }
    const off = Math.round(Math.abs(platform.clockAheadMs) / 60_000);
    for (const place of root.querySelectorAll("[data-minutes]")) {
      place.textContent = String(off);
    }
    $("unreachable").hidden = false;
    const untrusted = root.querySelector("[data-reason=certificate]");
    if (!untrusted.hidden) untilTrusted(lnd, untrusted, sayTrusted);
    $("unreachable").scrollIntoView({ block: "nearest" });
  } catch (other) {
    alertBox.textContent += ` ${inWords(other)}`;
  }
}

$("try-again").addEventListener("click", () => attempt(last));

// What was shown or typed is not for whoever comes back to this window.
window.addEventListener("pagehide", () => {
  for (const place of root.querySelectorAll("[data-secret]")) {
    if ("value" in place) place.value = "";
    else place.replaceChildren();
  }
});

// Some browsers have no WebCrypto even there: old ones, and those of some enterprises.
if (!window.isSecureContext || !window.crypto?.subtle) $("insecure").hidden = false;
