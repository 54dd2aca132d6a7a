/** Connect an app: bake its macaroon, try it, and hand it over; or revoke one. */

import { caveats, CHOICES, nextRootKey, permissions } from "../grants.js";
import { describe, narrowed, parse } from "../macaroon.js";
import { toHex } from "../bytes.js";
import { hand, hide } from "../handing.js";
import { keep } from "../making.js";
import {
  $,
  attempt,
  lnd,
  newPassword,
  node,
  onClick,
  onSubmit,
  platform,
  progress,
  show,
  wipe,
} from "../page.js";
import { Trouble } from "../trouble.js";
import * as vault from "../vault.js";

const looked = new Map();
let admin, password, kept;

onSubmit($("enter"), async () => {
  progress("Opening the vault…");
  kept = await platform.backups();
  password = $("password").value;
  admin = $("pasted").value.trim() ? await adminPasted() : await adminOfVault();
  await list();
  wipe("password", "pasted", "again");
  show("bake");
});

/** Take the macaroon that was pasted, with a password that is no slip of the fingers. */
async function adminPasted() {
  const pasted = toHex(parse($("pasted").value).bytes);
  if (!kept.length) {
    // What is baked here will be the first thing that this password has to open.
    newPassword("password", "again");
  } else if (!(await vault.opensAny(node, kept, password))) {
    throw new Trouble(
      "password",
      "Wrong password: nothing in the vault can be decrypted with it.",
    );
  }
  return pasted;
}

async function adminOfVault() {
  const found = kept.find(vault.isAdmin);
  if (found === undefined) {
    throw new Trouble(
      "form",
      "The vault has no admin macaroon. Paste one, or change the wallet password to store one.",
    );
  }
  return vault.open(node, found, password);
}

/** Show all root keys, with what the vault knows of their macaroons. */
async function list() {
  progress("Asking the node for its macaroons…");
  const ids = await lnd.rootKeyIds(admin);
  const known = await namesByRootKey();
  $("macaroons").replaceChildren(...ids.map((id) => row(id, known.get(id))));
  return ids;
}

async function namesByRootKey() {
  const names = new Map();
  for (const backup of kept.filter(({ kind }) => kind === "macaroon")) {
    const known = await described(backup);
    if (known === undefined) continue;
    const words = [backup.name, ...known.caveats].join(", ");
    names.set(known.rootKeyId, [...(names.get(known.rootKeyId) ?? []), { backup, words }]);
  }
  return names;
}

/** Say what a macaroon of the vault is; opening one takes half a second, so once. */
async function described(backup) {
  if (!looked.has(backup.value)) {
    let found;
    try {
      found = describe(await vault.open(node, backup, password));
    } catch {
      // Under another password: its root key is listed without a name.
    }
    looked.set(backup.value, found);
  }
  return looked.get(backup.value);
}

function row(id, known = []) {
  const made = $("root-key").content.cloneNode(true);
  const names = known.map(({ words }) => words);
  made.querySelector("[data-id]").textContent = id;
  made.querySelector("[data-names]").textContent = names.join("; ") || "not in the vault";
  const button = made.querySelector("button");
  for (const { backup } of known) button.before(handing(backup), " ");
  if (id === "0") {
    button.remove(); // the admin macaroon's own, which lnd does not give up
    return made;
  }
  button.setAttribute("aria-label", `Revoke ${id}`);
  button.addEventListener("click", () => {
    $("revoke").dataset.id = id;
    $("revoke-what").textContent = names.length ? `${id} (${names.join("; ")})` : id;
    $("sure").showModal();
  });
  return made;
}

/** Make a button that hands over what is in the vault already, to another phone say. */
function handing(backup) {
  const button = document.createElement("button");
  button.className = "plain";
  button.textContent = "Show";
  button.setAttribute("aria-label", `Show ${backup.name}`);
  button.addEventListener("click", () => attempt(async () => {
    progress("Opening the vault…");
    const app = [...$("app").options].find(({ value }) => value === backup.name.split(" ")[0]);
    const { name } = backup;
    const title = `Macaroon “${name}”`;
    hand(await vault.open(node, backup, password), { app: app?.value ?? "", name, title });
  }));
  return button;
}

onClick("revoke", async () => {
  $("sure").close();
  const { id } = $("revoke").dataset;
  await lnd.revoke(admin, id);
  await list();
  say(`Revoked: the macaroons of root key ${id} no longer work.`);
});

$("keep-it").addEventListener("click", () => $("sure").close());

onSubmit($("bake"), async () => {
  const preset = $("preset").value;
  const name = $("name").value.trim();
  if ($("store").checked && !/^[A-Za-z0-9 _.-]{1,50}$/.test(name)) {
    throw new Trouble("form", "Name: must have 1 to 50 characters of A-Z a-z 0-9 space _ . and -");
  }
  if ($("store").checked && kept.some((each) => each.kind === "macaroon" && each.name === name)) {
    throw new Trouble("form", "Name: the vault already has a macaroon with this name.");
  }
  const chosen = [...document.querySelectorAll("[data-choice]:checked")];
  const wanted = permissions(preset, chosen.map((box) => box.dataset.choice));
  const bounds = caveats({
    address: $("address").value.trim(),
    until: $("until").value ? new Date($("until").value) : undefined,
    now: platform.now(),
  });
  hide();
  progress("Baking the macaroon…");
  const id = nextRootKey(await lnd.rootKeyIds(admin));
  let baked = await lnd.bake(admin, wanted, id);
  for (const caveat of bounds) baked = await narrowed(baked, caveat);
  await tried(baked, wanted, id);
  if ($("store").checked) {
    progress("Encrypting and storing the macaroon…");
    await keep({ node, platform, password }, { kind: "macaroon", name }, baked);
    kept = await platform.backups();
  }
  await list();
  hand(baked, { app: $("app").value, name, title: "Your new macaroon" });
});

/** Have lnd look at it as it came from here; what it refuses is revoked and not shown. */
async function tried(baked, wanted, id) {
  progress("Testing the macaroon…");
  try {
    await lnd.check(admin, baked, wanted);
  } catch (error) {
    await lnd.revoke(admin, id);
    throw new Trouble(error.kind, `The new macaroon does not work from here, so it was revoked. ${error.message}`);
  }
}

function say(words) {
  $("said").textContent = words;
  $("said").hidden = false;
}

$("preset").addEventListener("change", offerChoices);
$("app").addEventListener("change", () => {
  const { value, selectedOptions: [{ dataset }] } = $("app");
  $("because").textContent = dataset.because;
  $("preset").value = dataset.preset;
  if (!$("name").value || named($("name").value)) $("name").value = value && unused(value);
  offerChoices();
});

function offerChoices() {
  $("choices").hidden = $("preset").value !== "custom";
}

/** Tell whether a name is one that this page suggested. */
const named = (name) =>
  [...$("app").options].some(({ value }) => value && name.replace(/ \d+$/, "") === value);

/** Suggest a name that the vault does not hold: zeus, zeus 2, zeus 3 ... */
function unused(app) {
  const names = new Set(kept.map(({ name }) => name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? app : `${app} ${number}`;
    if (!names.has(name)) return name;
  }
}

for (const { entity, action } of CHOICES) {
  const made = $("choice").content.cloneNode(true);
  const box = made.querySelector("input");
  box.dataset.choice = `${entity}:${action}`;
  box.id = `choice-${entity}-${action}`;
  const label = made.querySelector("label");
  label.htmlFor = box.id;
  label.textContent = `${entity}: ${action}`;
  $("choices").append(made);
}
