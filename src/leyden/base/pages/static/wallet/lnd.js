/**
 * The node's own REST, called from the browser: what is said here goes to lnd alone.
 *
 * TLS ends in lnd, and the node lets pages of this dashboard talk to it (`restcors`).
 * Passwords, seeds and macaroons are given to these functions and to nobody else.
 */

import { fromBase64, fromHex, toBase64, toHex, utf8 } from "./bytes.js";
import { Trouble } from "./trouble.js";

const PATIENCE_MS = 15_000;
const WALLET_PATIENCE_MS = 90_000; // making and opening a wallet takes lnd its time

// lnd's own words, and what they mean to people; the first that matches.
const MEANINGS = [
  [/invalid passphrase/i, "password", "Wrong wallet password."],
  [/wallet already exists/i, "refused", "This node already has a wallet."],
  [/wallet not found/i, "refused", "This node has no wallet yet. Create it first."],
  [/unable to unpack chan backup/i, "form", "This channel backup belongs to another seed."],
  [/already unlocked/i, "refused", "The wallet is already unlocked."],
  [/wallet locked/i, "refused", "The wallet is locked: unlock it first."],
  [/password must have at least/i, "form", "The password must have at least 8 characters."],
  [/checksum|invalid mnemonic|default word list|invalid aezeed version/i, "form",
    "These words are not a valid seed: at least one is wrong, or in the wrong place."],
  [/different ip address|ip .*(locked|range)/i, "refused",
    "The macaroon is not valid from the address that lnd sees."],
  [/macaroon.*expired/i, "refused", "The macaroon has expired."],
  [/root key with id|cannot get macaroon|verification failed/i, "refused",
    "The node does not know this macaroon: it was revoked, or belongs to another node."],
  [/permission denied/i, "refused", "The macaroon does not allow this."],
];

// Lists of lnd's, and what their channels are doing.
const PENDING = {
  pending_open_channels: "pending",
  pending_closing_channels: "closing",
  pending_force_closing_channels: "closing",
  waiting_close_channels: "closing",
};
// gRPC's code (INVALID_ARGUMENT) with which lnd refuses a macaroon that it checks.
export const CHECKED_REFUSED = 3;
const PEERS_NAMED = "/v1/channels?peer_alias_lookup=true";

export class Lnd {
  /** @param {string} url as in https://NAME:8080 */
  constructor(url) {
    this.url = url;
  }

  async state() {
    return (await this.call("GET", "/v1/state")).state;
  }

  /** Ask for a new seed: 24 words. */
  async newSeed() {
    return (await this.call("GET", "/v1/genseed")).cipher_seed_mnemonic;
  }

  /** Make a wallet of a seed; gives the admin macaroon, which lnd itself forgets. */
  async init(password, seed, { passphrase = "", recovery = 0 } = {}) {
    const made = await this.wallet("/v1/initwallet", {
      wallet_password: base64Of(password),
      cipher_seed_mnemonic: seed,
      ...(passphrase && { aezeed_passphrase: base64Of(passphrase) }),
      ...(recovery && { recovery_window: recovery }),
      stateless_init: true,
    });
    return macaroonOf(made);
  }

  /**
   * Have peers close the channels of a backup (base64); gives how many there are.
   *
   * Not done while the wallet is made: lnd would make it, and then end for good over a
   * backup that it cannot read.
   */
  async restoreChannels(macaroon, backup) {
    const wish = { multi_chan_backup: backup };
    const told = await this.wallet("/v1/channels/backup/restore", wish, macaroon);
    return told.num_restored ?? 0;
  }

  async unlock(password) {
    await this.wallet("/v1/unlockwallet", {
      wallet_password: base64Of(password),
      stateless_init: true,
    });
  }

  /** Change the password, which unlocks the wallet; gives the admin macaroon. */
  async changePassword(password, next) {
    const made = await this.wallet("/v1/changepassword", {
      current_password: base64Of(password),
      new_password: base64Of(next),
      stateless_init: true,
    });
    return macaroonOf(made);
  }

  /** Have a macaroon baked; in hex. */
  async bake(admin, permissions, rootKeyId) {
    const body = { permissions, root_key_id: rootKeyId };
    return (await this.call("POST", "/v1/macaroon", body, admin)).macaroon;
  }

  async rootKeyIds(admin) {
    const found = await this.call("GET", "/v1/macaroon/ids", undefined, admin);
    return found.root_key_ids;
  }

  /** Revoke all macaroons of a root key, at once and for good. */
  async revoke(admin, rootKeyId) {
    await this.call("DELETE", `/v1/macaroon/${BigInt(rootKeyId)}`, undefined, admin);
  }

  /** Have lnd say whether a macaroon allows this from here; if not, with CHECKED_REFUSED. */
  async check(admin, macaroon, permissions) {
    const body = {
      macaroon: toBase64(fromHex(macaroon)),
      permissions,
      fullMethod: "",
    };
    await this.call("POST", "/v1/macaroon/checkpermissions", body, admin);
  }

  /** What the node knows of itself, its coins and its channels; see `channels`. */
  async overview(macaroon) {
    const [info, coins, channels] = await Promise.all([
      this.call("GET", "/v1/getinfo", undefined, macaroon),
      this.call("GET", "/v1/balance/blockchain", undefined, macaroon),
      this.channels(macaroon),
    ]);
    return { info, coins, channels };
  }

  /** All channels, as [{state, channel, pending}]: pending is what lnd says of its end. */
  async channels(macaroon) {
    const [{ channels }, lists] = await Promise.all(
      [PEERS_NAMED, "/v1/channels/pending"]
        .map((path) => this.call("GET", path, undefined, macaroon)),
    );
    const open = channels.map((channel) => ({
      state: channel.active ? "active" : "inactive",
      channel,
    }));
    const others = Object.entries(PENDING).flatMap(([list, state]) =>
      (lists[list] ?? []).map((pending) => ({ state, channel: pending.channel, pending })),
    );
    return [...open, ...others];
  }

  async wallet(path, body, macaroon) {
    return this.call("POST", path, body, macaroon, WALLET_PATIENCE_MS);
  }

  async call(method, path, body, macaroon, patience = PATIENCE_MS) {
    const signal = AbortSignal.timeout(patience);
    let content;
    const answer = await this.answer(method, path, body, macaroon, signal);
    try {
      content = await answer.json();
    } catch (error) {
      throw broken(error);
    }
    if (!answer.ok) throw refusal(content);
    return content;
  }

  /** Give what lnd says one after the other, as with a payment that is on its way. */
  async *stream(method, path, body, macaroon, signal) {
    const answer = await this.answer(method, path, body, macaroon, signal);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        const lines = (rest + (value ?? "")).split("\n");
        rest = done ? "" : lines.pop();
        for (const line of lines.filter(Boolean)) {
          const told = JSON.parse(line);
          if (told.result === undefined) throw refusal(told);
          yield told.result;
        }
        if (done) return;
      }
    } catch (error) {
      throw error instanceof Trouble ? error : broken(error);
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  async answer(method, path, body, macaroon, signal) {
    try {
      return await fetch(this.url + path, {
        method,
        headers: {
          ...(body && { "content-type": "application/json" }),
          ...(macaroon && { "grpc-metadata-macaroon": macaroon }),
        },
        body: body && JSON.stringify(body),
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal,
      });
    } catch (error) {
      throw broken(error);
    }
  }
}

const base64Of = (text) => toBase64(utf8(text));

const macaroonOf = (made) => toHex(fromBase64(made.admin_macaroon));

function broken(error) {
  if (error instanceof SyntaxError) {
    return new Trouble("refused", "The server at the node's address is not lnd.");
  }
  return new Trouble("unreachable", "Your browser could not reach the node.");
}

/** Put lnd's refusal in words; `said` and gRPC's `code` are its own, for pages that know better. */
function refusal(content) {
  const said = content?.error?.message ?? content?.message ?? "";
  const [, kind, meaning] = MEANINGS.find(([words]) => words.test(said)) ?? [];
  // lnd's other words are about the request, never a copy of it.
  const trouble = new Trouble(kind ?? "refused", meaning ?? `The node rejected this: ${said}`);
  return Object.assign(trouble, { said, code: content?.error?.code ?? content?.code });
}
