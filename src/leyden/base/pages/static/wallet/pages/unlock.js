/** Unlock: the password goes to lnd and nowhere else. */

import { $, attempt, lnd, onSubmit, progress, reach, show, wipe } from "../page.js";

onSubmit($("unlock"), async () => {
  progress("Unlocking the wallet…");
  await lnd.unlock($("password").value);
  wipe("password");
  progress("The wallet is unlocked. lnd is starting…");
  await reach(["RPC_ACTIVE", "SERVER_ACTIVE"]);
  show("done");
});

attempt(async () => {
  const state = await lnd.state();
  if (state === "NON_EXISTING") show("none");
  else if (state !== "LOCKED" && state !== "WAITING_TO_START") show("open");
});
