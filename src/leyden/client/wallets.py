"""Wallet calls to a node: create, unlock, macaroons, channel backups."""

import base64
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from leyden.client import macaroons
from leyden.client.lnd import Lnd
from leyden.lnd.rest import WALLET_S

# The root key of what commands bake for themselves ("LEYD"): revoking it ends them all.
COMMANDS_ROOT_KEY: Final = 0x4C455944
# gRPC's code (INVALID_ARGUMENT) with which lnd refuses a macaroon that it checks.
CHECKED_REFUSED: Final = 3
_ACCOUNT: Final = re.compile(r"m/(\d+)'/(\d+)'/(\d+)'")


def new_seed(lnd: Lnd) -> list[str]:
    """Return the words of a new seed from lnd."""
    return list(lnd.get("/v1/genseed")["cipher_seed_mnemonic"])


def init(
    lnd: Lnd,
    password: str,
    seed: list[str],
    *,
    passphrase: str = "",
    recovery_window: int = 0,
) -> str:
    """Create the wallet; return the admin macaroon in hex.

    lnd itself does not store the macaroon.
    """
    wish: dict[str, Any] = {
        "wallet_password": _encode(password),
        "cipher_seed_mnemonic": seed,
        # Else lnd would write its macaroons to the platform's disk.
        "stateless_init": True,
    }
    if passphrase:
        wish["aezeed_passphrase"] = _encode(passphrase)
    if recovery_window:
        wish["recovery_window"] = recovery_window
    return _macaroon(lnd.post("/v1/initwallet", wish, timeout_s=WALLET_S))


def init_watch_only(
    lnd: Lnd, password: str, accounts: Sequence[Mapping[str, Any]], *, now: datetime
) -> str:
    """Create a wallet without private keys; return the admin macaroon in hex.

    The accounts are those of the signer, which has the keys. lnd doesn't look for
    coins from before `now`.
    """
    public = {
        "accounts": accounts,
        "master_key_birthday_timestamp": str(int(now.timestamp())),
    }
    wish = {
        "wallet_password": _encode(password),
        "watch_only": public,
        "stateless_init": True,
    }
    return _macaroon(lnd.post("/v1/initwallet", wish, timeout_s=WALLET_S))


def watch_only_accounts(listed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the accounts of a signer's `lncli wallet accounts list` as lnd takes them.

    Raise ValueError if there are none.
    """
    accounts = []
    for each in listed.get("accounts", ()):
        path = _ACCOUNT.fullmatch(each.get("derivation_path", ""))
        if path is None or not each.get("extended_public_key"):
            continue  # of imported keys, which have no path
        purpose, coin_type, account = map(int, path.groups())
        accounts.append(
            {
                "purpose": purpose,
                "coin_type": coin_type,
                "account": account,
                "xpub": each["extended_public_key"],
            }
        )
    if not accounts:
        raise ValueError("no accounts")
    return accounts


def unlock(lnd: Lnd, password: str) -> None:
    """Unlock the wallet."""
    wish = {"wallet_password": _encode(password), "stateless_init": True}
    lnd.post("/v1/unlockwallet", wish, timeout_s=WALLET_S)


def change_password(lnd: Lnd, password: str, new: str) -> str:
    """Change a locked wallet's password and unlock the wallet.

    Return the admin macaroon.
    """
    wish = {
        "current_password": _encode(password),
        "new_password": _encode(new),
        "stateless_init": True,
    }
    return _macaroon(lnd.post("/v1/changepassword", wish, timeout_s=WALLET_S))


def bake(
    lnd: Lnd, permissions: tuple[str, ...], *, root_key_id: int | None = None
) -> str:
    """Bake a macaroon under a new root key, so that it can be revoked."""
    if root_key_id is None:
        used = {int(each) for each in root_keys(lnd)} - {COMMANDS_ROOT_KEY}
        root_key_id = max(used, default=0) + 1
    wish = {"permissions": _wire(permissions), "root_key_id": str(root_key_id)}
    return str(lnd.post("/v1/macaroon", wish)["macaroon"])


def root_keys(lnd: Lnd) -> list[str]:
    """List the root keys of baked macaroons; 0 is the first admin's."""
    return [str(each) for each in lnd.get("/v1/macaroon/ids")["root_key_ids"]]


def revoke(lnd: Lnd, root_key_id: int) -> None:
    """Revoke all macaroons under a root key, at once and permanently."""
    lnd.delete(f"/v1/macaroon/{root_key_id}")


def check(lnd: Lnd, macaroon: str) -> None:
    """Have lnd check a macaroon (hex) for all its permissions, from this address.

    lnd refuses one that does not work with `CHECKED_REFUSED`. This needs another
    macaroon, which may read macaroons.
    """
    wish = {
        "macaroon": base64.b64encode(bytes.fromhex(macaroon)).decode(),
        "permissions": _wire(macaroons.parse(macaroon).permissions),
    }
    lnd.post("/v1/macaroon/checkpermissions", wish)


def restore_channels(lnd: Lnd, channels: bytes) -> int:
    """Request that peers close a backup's channels; return their number.

    This is not done while the wallet is created: lnd would create it, and
    then shut down for good over a backup that it cannot read. lnd accepts
    this call once it serves all calls.
    """
    wish = {"multi_chan_backup": base64.b64encode(channels).decode()}
    answer = lnd.post("/v1/channels/backup/restore", wish, timeout_s=WALLET_S)
    return int(answer.get("num_restored", 0))


def verify_channels(lnd: Lnd, channels: bytes) -> list[str]:
    """Verify a channel backup with lnd; return its channel points."""
    answer = lnd.post("/v1/channels/backup/verify", _multi(channels))
    return [str(each) for each in answer.get("chan_points", ())]


def _wire(permissions: tuple[str, ...]) -> list[dict[str, str]]:
    """Return permissions, each as entity:action, as lnd takes them."""
    parts = (each.partition(":") for each in permissions)
    return [{"entity": entity, "action": action} for entity, _, action in parts]


def _multi(channels: bytes) -> dict[str, Any]:
    content = base64.b64encode(channels).decode()
    return {"multi_chan_backup": {"multi_chan_backup": content}}


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _macaroon(answer: dict[str, Any]) -> str:
    return base64.b64decode(answer["admin_macaroon"]).hex()
