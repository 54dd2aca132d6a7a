/** Connect an app: bake its macaroon, try it, and hand it over; or revoke one. */

import { caveats, CHOICES, nextRootKey, permissions, presetOf } from "../grants.js";
import { describe, narrowed, parse } from "../macaroon.js";
import { toHex } from "../bytes.js";
import { hand, hide } from "../handing.js";
import { CHECKED_REFUSED } from "../lnd.js";
import { keep } from "../making.js";
import {
  $,
  attempt,
  fill,
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
import { fillIn, plural, when } from "../shown.js";
import { Trouble } from "../trouble.js";
import * as vault from "../vault.js";

const looked = new Map();
const tested = new Map(); // what the last test of a macaroon said, in this visit
const tiles = [...document.querySelectorAll("[data-app]")];
const APPS = tiles.map(({ dataset }) => dataset.app).filter(Boolean);
let admin, password, kept;
let app = ""; // the one that was chosen

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

/** Show all applications: the node's root keys, with what the vault knows of each. */
async function list() {
  progress("Asking the node for its macaroons…");
  const ids = await lnd.rootKeyIds(admin);
  const known = await byRootKey();
  const gone = [...known.keys()].filter((id) => !ids.includes(id));
  $("macaroons").replaceChildren(
    ...ids.map((id) => row(id, known.get(id))),
    ...gone.map((id) => row(id, known.get(id), { isRevoked: true })),
  );
}

async function byRootKey() {
  const found = new Map();
  for (const backup of kept.filter(({ kind }) => kind === "macaroon")) {
    const known = await described(backup);
    if (known === undefined) continue;
    found.set(known.rootKeyId, [...(found.get(known.rootKeyId) ?? []), { backup, ...known }]);
  }
  return found;
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

function row(id, known = [], { isRevoked = false } = {}) {
  const each = (read) => [...new Set(known.map(read))].join("; ");
  const names = each(({ backup }) => backup.name) || "Not in the vault";
  const made = fillIn($("root-key").content.cloneNode(true), {
    id: isRevoked ? `${id} (revoked)` : id,
    names,
    may: each(({ permissions: granted }) => nameOf(granted)) || "Unknown",
    created: each(({ backup }) => when(Date.parse(backup.created) / 1000)) || "Unknown",
    expires: each(({ caveats: bounds }) => expiryOf(bounds)) || "Unknown",
  });
  const button = made.querySelector("button");
  const cell = made.querySelector("[data-tested]");
  const fillTests = () => fill(cell, testsOf(known), "div");
  fillTests();
  for (const macaroon of known) {
    if (!isRevoked) button.before(handing(macaroon.backup));
    button.before(testing(macaroon, fillTests));
  }
  if (id === "0" || isRevoked) {
    button.remove(); // lnd does not give up the admin macaroon's own
    return made;
  }
  button.setAttribute("aria-label", `Revoke ${known.length ? names : `root key ${id}`}`);
  button.addEventListener("click", () => {
    Object.assign($("revoke").dataset, { id, names });
    $("revoke-what").textContent = known.length ? names : `root key ${id}`;
    $("sure").showModal();
  });
  return made;
}

/** Name permissions by their preset, or count them. */
function nameOf(granted) {
  const preset = presetOf(granted);
  const option = [...$("preset").options].find(({ value }) => value === preset);
  return option ? option.textContent.split(":")[0] : plural(granted.length, "permission");
}

function expiryOf(bounds) {
  const [bound] = bounds.filter((each) => each.startsWith("time-before "));
  const until = bound ? when(Date.parse(bound.split(" ")[1]) / 1000) : "Never";
  const others = bounds.filter((each) => each !== bound);
  return [until, ...others].join(", ");
}

/** Say what the last tests said; of several under one root key, with their names. */
function testsOf(known) {
  if (!known.length) return ["Unknown"];
  return known.map(({ backup: { name, value } }) => {
    const said = tested.get(value) ?? "Not tested";
    return known.length > 1 ? `${name}: ${said}` : said;
  });
}

/** Make a button that has lnd check a macaroon of the vault, as if it were used from here. */
function testing({ backup, permissions: granted }, done) {
  return buttonOf("Test", backup, async () => {
    progress("Testing the macaroon…");
    const macaroon = await vault.open(node, backup, password);
    let why;
    try {
      await lnd.check(admin, macaroon, granted);
    } catch (error) {
      if (error.code !== CHECKED_REFUSED) throw error; // it says nothing of the macaroon
      why = error.message;
    }
    const at = when(platform.now() / 1000);
    tested.set(backup.value, why ? `Fails, ${at}. ${why}` : `Works, ${at}`);
    done();
  });
}

/** Make a button that hands over what is in the vault already, to another phone say. */
function handing(backup) {
  return buttonOf("Show", backup, async () => {
    progress("Opening the vault…");
    const { name } = backup;
    const [first] = name.split(" ");
    const title = `Macaroon “${name}”`;
    const of = APPS.includes(first) ? first : "";
    hand(await vault.open(node, backup, password), { app: of, name, title });
  });
}

function buttonOf(verb, { name }, work) {
  const button = document.createElement("button");
  button.className = "plain";
  button.textContent = verb;
  button.setAttribute("aria-label", `${verb} ${name}`);
  button.addEventListener("click", () => attempt(work));
  return button;
}

onClick("revoke", async () => {
  $("sure").close();
  const { id, names } = $("revoke").dataset;
  await lnd.revoke(admin, id);
  for (const [value, found] of looked) if (found?.rootKeyId === id) tested.delete(value);
  await list();
  say(`Revoked: ${names} (root key ${id}) no longer works.`);
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
  hand(baked, { app, name, title: "Your new macaroon" });
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
for (const tile of tiles) {
  tile.addEventListener("click", () => {
    for (const each of tiles) each.setAttribute("aria-pressed", String(each === tile));
    ({ app } = tile.dataset);
    $("because").textContent = tile.dataset.because;
    $("preset").value = tile.dataset.preset;
    if (!$("name").value || suggested($("name").value)) $("name").value = app && unused(app);
    offerChoices();
  });
}

function offerChoices() {
  $("choices").hidden = $("preset").value !== "custom";
}

/** Tell whether a name is one that this page suggested. */
const suggested = (name) => APPS.includes(name.replace(/ \d+$/, ""));

/** Suggest a name that the vault does not hold: zeus, zeus 2, zeus 3 ... */
function unused(slug) {
  const names = new Set(kept.map(({ name }) => name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? slug : `${slug} ${number}`;
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
