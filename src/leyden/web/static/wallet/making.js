/**
 * Making a wallet so that nothing is lost wherever it breaks off.
 *
 * 1. A new seed is sealed and kept before there is a wallet of it. One that its owner
 *    brought is kept after, for until then it may not even be a seed.
 * 2. lnd makes the wallet, and gives the admin macaroon, which it then forgets.
 * 3. The sealed macaroon is kept.
 *
 * `run` can be called again after a failure: what is done is not done twice.
 */

import { sha256, toHex, utf8 } from "./bytes.js";
import { progress } from "./page.js";
import * as vault from "./vault.js";

const SEED = { kind: "seed", name: "" };
export const ADMIN = { kind: "macaroon", name: "admin" };

export class Making {
  constructor({ node, lnd, platform }, password, seed, options) {
    Object.assign(this, { node, lnd, platform, password, seed, options });
  }

  async run() {
    if (this.options === undefined) await this.keepSeed();
    if (!this.admin) {
      progress("lnd is making the wallet…");
      this.admin = await this.lnd.init(this.password, this.seed, this.options);
    }
    await this.keepSeed();
    progress("Encrypting the admin macaroon, and keeping it…");
    await keep(this, ADMIN, this.admin, await this.platform.backups());
  }

  async keepSeed() {
    if (this.seedIsKept) return;
    progress("Encrypting the seed, and keeping it…");
    await keep(this, SEED, this.seed, await this.platform.backups());
    this.seedIsKept = true;
  }
}

/** Seal and keep a backup; where there is one of that name, it takes its place. */
export async function keep({ node, platform, password }, backup, secret, kept) {
  const value = await vault.seal(node, backup, secret, password);
  const before = kept.find(
    ({ kind, name }) => kind === backup.kind && name === backup.name,
  );
  if (before === undefined) {
    await platform.keep(backup, value);
  } else {
    const replaces = toHex(await sha256(utf8(before.value)));
    await platform.reseal([{ ...backup, replaces, value }]);
  }
}
