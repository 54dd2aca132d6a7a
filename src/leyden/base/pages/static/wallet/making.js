/**
 * Making a wallet so that nothing is lost wherever it breaks off.
 *
 * 1. A new seed is sealed and kept before there is a wallet of it. One that its owner
 *    brought is kept after, for until then it may not even be a seed.
 * 2. lnd makes the wallet, and gives the admin macaroon, which it then forgets.
 * 3. The sealed macaroon is kept.
 *
 * `run` can be called again after a failure: what is done is not done twice. A seed that
 * another window kept meanwhile is never replaced: there may be a wallet of it.
 */

import { sha256, toHex, utf8 } from "./bytes.js";
import { progress } from "./page.js";
import * as vault from "./vault.js";

const SEED = { kind: "seed", name: "" };

export class Making {
  /**
   * @param made about a new seed: {isKept} when it is the one that is kept already, or
   *   {before}, the kept one that it replaces because its owner said so
   * @param options about a seed that its owner brought; see Lnd.init
   */
  constructor({ node, lnd, platform }, password, seed, { made, options }) {
    Object.assign(this, { node, lnd, platform, password, seed, made, options });
    this.seedIsKept = made?.isKept ?? false;
  }

  async run() {
    if (this.made) await this.keepSeed(this.made.before);
    if (!this.admin) {
      progress("Creating the wallet…");
      this.admin = await this.lnd.init(this.password, this.seed, this.options);
    }
    const kept = await this.platform.backups();
    await this.keepSeed(kept.find(({ kind }) => kind === SEED.kind));
    progress("Encrypting and storing the admin macaroon…");
    await keep(this, vault.ADMIN, this.admin, kept.find(vault.isAdmin));
  }

  async keepSeed(before) {
    if (this.seedIsKept) return;
    progress("Encrypting and storing the seed…");
    await keep(this, SEED, this.seed, before);
    this.seedIsKept = true;
  }
}

/** Seal and keep a backup, in the place of the one before it if there was one. */
export async function keep({ node, platform, password }, backup, secret, before) {
  const value = await vault.seal(node, backup, secret, password);
  if (before === undefined) {
    await platform.keep(backup, value);
  } else {
    const replaces = toHex(await sha256(utf8(before.value)));
    await platform.reseal([{ ...backup, replaces, value }]);
  }
}
