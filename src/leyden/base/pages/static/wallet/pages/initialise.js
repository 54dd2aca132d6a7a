/** Initialise: a password, a seed that is shown once, three words of it, a wallet. */

import { Making } from "../making.js";
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
  reach,
  show,
  wipe,
} from "../page.js";
import { askFor } from "../seed.js";
import { Trouble } from "../trouble.js";
import * as vault from "../vault.js";

let password, seed, made, asked, making;

onSubmit($("choose"), async () => {
  const chosen = newPassword("password", "again");
  progress("Asking the node for a seed…");
  if ((await lnd.state()) !== "NON_EXISTING") {
    throw new Trouble("refused", "This node already has a wallet: unlock it instead.");
  }
  const before = (await platform.backups()).find(({ kind }) => kind === "seed");
  const kept = before && !$("anew").checked ? await open(before, chosen) : undefined;
  seed = kept ?? (await lnd.newSeed());
  made = kept ? { isKept: true } : { before };
  password = chosen;
  making = undefined;
  wipe("password", "again");
  showWords();
});

/** Open the seed of an attempt that broke off, to go on with it. */
async function open(before, chosen) {
  try {
    const found = await vault.open(node, before, chosen);
    $("resumed").hidden = false;
    return found;
  } catch (error) {
    $("kept").hidden = false;
    throw new Trouble(
      error.kind,
      "A seed is already stored for this node, and this password does not decrypt it.",
    );
  }
}

function showWords() {
  fill($("words"), seed);
  show("words");
}

onClick("written", async () => {
  $("words").replaceChildren();
  asked = askFor(3, seed.length);
  const labels = document.querySelectorAll("[data-ask]");
  for (const [i, label] of labels.entries()) {
    label.textContent = `Word ${asked[i] + 1}`;
    $(`word-${i}`).value = "";
  }
  show("check");
  $("word-0").focus();
});

onClick("look-again", async () => showWords());

onSubmit($("check"), async () => {
  const wrong = asked.filter(
    (place, i) => $(`word-${i}`).value.trim().toLowerCase() !== seed[place],
  );
  if (wrong.length) {
    const which = new Intl.ListFormat("en-GB").format(wrong.map((place) => `${place + 1}`));
    const are = wrong.length > 1 ? `Words ${which} are wrong` : `Word ${which} is wrong`;
    throw new Trouble("form", `${are}. Check what you wrote down.`);
  }
  wipe("word-0", "word-1", "word-2");
  show("make");
  // What fails is said beside the button that goes on where it broke off.
  await attempt(makeAndFinish);
});

onClick("retry", makeAndFinish);

async function makeAndFinish() {
  await make();
  finish();
}

async function make() {
  making ??= new Making({ node, lnd, platform }, password, seed, { made });
  await making.run();
  progress("The wallet is ready. lnd is starting…");
  await reach(["RPC_ACTIVE", "SERVER_ACTIVE"]);
}

function finish() {
  password = seed = made = asked = making = undefined;
  show("done");
}

attempt(async () => {
  const state = await lnd.state();
  if (state !== "NON_EXISTING") show("exists");
});
