"""Connecting to a node as its owner, trusting only its own CA."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click

from leyden.base.cli import exit_codes
from leyden.base.cli.output import as_json
from leyden.base.cli.secrets import prompted
from leyden.base.rules.times import utc_now
from leyden.client import ApiError, Lnd, macaroons, vault, wallets
from leyden.client.wire import NOT_TRUSTED
from leyden.customer.node_waiting import how
from leyden.customer.progress import waiting
from leyden.customer.session import ApiSession, with_session
from leyden.errors import Conflict, Malformed, NodeAway, NodeRefused, WrongPassword
from leyden.schemas.nodes import NodeItem
from leyden.values import Struct

SHORTEST_PASSWORD = 8  # lnd's own rule
ADMIN = "admin"
_COMMAND_LASTS: Final = timedelta(hours=1)
_NOT_FOUND = 404
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
# lnd's own words, and what to do about them; the first that fits.
_MEANINGS = (
    ("wallet already exists", "this node already has a wallet"),
    ("wallet not found", "this node has no wallet yet: leyden wallet init {name}"),
    ("wallet locked", "the wallet is locked: leyden wallet unlock {name}"),
    ("already unlocked", "the wallet is already unlocked"),
    (
        "checksum",
        ("these words are not a valid seed: a word is wrong, or in the wrong place"),
    ),
    ("invalid mnemonic", "these words are not a seed"),
    ("different ip", "the macaroon is not valid from the address that lnd sees"),
    ("macaroon has expired", "the macaroon has expired"),
    (
        "caveat not satisfied",
        "the macaroon has expired, or is not valid from this address",
    ),
    ("cannot get macaroon", "the node does not know this macaroon: it was revoked"),
    ("verification failed", "the node does not know this macaroon: it was revoked"),
    ("unable to unpack chan", "this is not a channel backup of this seed"),
    ("permission denied", "the macaroon does not allow this"),
    ("not for current active network", "this invoice is of another network"),
    ("not valid for this network", "this address is of another chain"),
    ("address is not for", "this address is of another chain"),
    ("invoice expired", "this invoice has expired"),
    ("invoice is already paid", "this invoice is already paid"),
    ("payment is in transition", "this invoice is being paid already"),
    ("self-payments not allowed", "this invoice is this node's own"),
    ("insufficient funds available", "the on-chain balance is too small"),
    ("invalid index", "this is not a channel of the node"),
)

password_option = click.option(
    "--password-file",
    type=_FILE,
    help="File with the wallet password. Default: LEYDEN_WALLET_PASSWORD, or a prompt.",
)
new_password_option = click.option(
    "--new-password-file",
    type=_FILE,
    help="File with the new password. Default: LEYDEN_NEW_PASSWORD, or a prompt.",
)


def macaroon_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for a macaroon file, instead of the stored macaroon."""
    return click.option(
        "--macaroon-file",
        type=_FILE,
        help="Macaroon to call the node with. Default: `admin` from the vault.",
    )(command)


def wallet_password(file: Path | None, *, twice: bool = False) -> str:
    """Return the wallet's password; prompt twice for a new one."""
    what = (
        f"New wallet password ({SHORTEST_PASSWORD} characters or more)"
        if twice
        else "Wallet password"
    )
    return prompted(what, file=file, variable="LEYDEN_WALLET_PASSWORD", twice=twice)


def new_password(file: Path | None, *, what: str = "New password") -> str:
    """Return a new password, after a length check."""
    found = prompted(what, file=file, variable="LEYDEN_NEW_PASSWORD", twice=True)
    check_length(found)
    return found


def check_length(password: str) -> None:
    """Raise Malformed for a password too short for lnd."""
    if len(password.encode()) < SHORTEST_PASSWORD:
        raise Malformed(
            f"the wallet password must have at least {SHORTEST_PASSWORD} characters"
        )


def has_wallet(node: NodeItem) -> None:
    """Raise Conflict with the next step if the node has no wallet yet."""
    if node.status == "waiting_init":
        raise Conflict(
            f"this node has no wallet yet: leyden wallet init {node.node_name!r}"
        )


@contextmanager
def open_node(
    session: ApiSession, node: NodeItem, *, macaroon: str = ""
) -> Iterator[Lnd]:
    """Open a connection to the node; errors get a next step."""
    name = node.node_name
    with session.client.lnd(
        node.node_id, macaroon=macaroon, trusts=session.profile.authority
    ) as lnd:
        try:
            yield lnd
        except NodeAway as error:
            raise NodeAway(f"{error.message}; {_what_to_check(error, name)}") from None
        except NodeRefused as error:
            if "invalid passphrase" in error.message:
                raise WrongPassword("wrong wallet password") from None
            said = meaning(error.message, node)
            raise NodeRefused(said, code=error.code) from None


def _what_to_check(error: NodeAway, name: str) -> str:
    if NOT_TRUSTED in error.message:
        return (
            "check the root certificate in LEYDEN_CA or in the profile: the operator "
            "may have replaced it; get the new one with `leyden nodes cert`, or on a "
            'private chain with eval "$(leyden dev env)"'
        )
    return (
        f"check that it runs (leyden nodes show {name!r}) and that this machine's IP "
        f"address is allowed (leyden nodes whitelist {name!r})"
    )


class OwnerKeys(Struct, frozen=True, kw_only=True):
    """The files by which a command may call a node."""

    password_file: Path | None
    macaroon_file: Path | None


@contextmanager
def open_for(
    session: ApiSession, node: NodeItem, keys: OwnerKeys, methods: Sequence[str]
) -> Iterator[Lnd]:
    """Open a connection that may call these methods of lnd, for an hour, and no others.

    A macaroon file is used as it is. `methods` are as in "lnrpc.Lightning/GetInfo".
    """
    if keys.macaroon_file is not None:
        macaroon = read_macaroon(keys.macaroon_file)
        with open_node(session, node, macaroon=macaroon) as lnd:
            yield lnd
        return
    admin = admin_macaroon(session, node, None, wallet_password(keys.password_file))
    with open_node(session, node, macaroon=admin) as lnd:
        allowed = tuple(f"uri:/{each}" for each in methods)
        baked = wallets.bake(lnd, allowed, root_key_id=wallets.COMMANDS_ROOT_KEY)
    now = utc_now()
    for caveat in macaroons.caveats(address="", until=now + _COMMAND_LASTS, now=now):
        baked = macaroons.narrowed(baked, caveat)
    with open_node(session, node, macaroon=baked) as lnd:
        yield lnd


def money_options(command: Callable[..., None]) -> Callable[..., Any]:
    """Add what each command about a node's money has: session, keys, --json."""

    @functools.wraps(command)
    def run(
        *args: Any,
        password_file: Path | None,
        macaroon_file: Path | None,
        **options: Any,
    ) -> None:
        keys = OwnerKeys(password_file=password_file, macaroon_file=macaroon_file)
        command(*args, keys=keys, **options)

    made: Callable[..., Any] = password_option(
        macaroon_option(as_json(with_session(run)))
    )
    return made


def state_is(lnd: Lnd, node: NodeItem, wanted: str) -> None:
    """Raise an error with the next step unless the wallet state is right."""
    match lnd.state():
        case state if state == wanted:
            return
        case "NON_EXISTING":
            raise Conflict(
                f"this node has no wallet yet: leyden wallet init {node.node_name!r}"
            )
        case "RPC_ACTIVE" | "SERVER_ACTIVE" if wanted == "NON_EXISTING":
            raise Conflict("this node has a wallet already, and is unlocked")
        case "LOCKED":
            raise Conflict(
                f"this node's wallet is locked: leyden wallet unlock {node.node_name!r}"
            )
        case "WAITING_TO_START":
            raise NodeAway("the node is starting; try again in a moment")
        case _:
            raise Conflict("this node's wallet is already unlocked")


def signs_itself(session: ApiSession, node: NodeItem, *, wanted: bool) -> None:
    """Raise Conflict unless the node's wallet is to have its keys, or its signer is."""
    is_remote = session.client.nodes.get(node.node_id).settings.remotesigning
    if is_remote and wanted:
        raise Conflict(
            "this node signs with your own lnd, its signer: leyden wallet init "
            f"{node.node_name!r} --watch-only ACCOUNTS"
        )
    if not is_remote and not wanted:
        raise Conflict(
            "this node has no signer; set its address, macaroon and certificate first, "
            f"with leyden nodes settings {node.node_name!r}"
        )


def until_running(
    session: ApiSession, node: NodeItem, *, within_s: float = 180
) -> None:
    """Wait until the platform reports the node as running."""
    with waiting("the node") as progress:
        session.client.nodes.wait(
            node.node_id,
            {"running"},
            within_s=within_s,
            on_state=lambda node_: progress(how(node_)),
        )


def admin_macaroon(
    session: ApiSession, node: NodeItem, macaroon_file: Path | None, password: str
) -> str:
    """Return a macaroon to call the node with, from a file or the vault."""
    if macaroon_file is not None:
        return read_macaroon(macaroon_file)
    try:
        stored = vault.macaroon(session.client.backups, node.node_id, ADMIN)
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        has_wallet(node)
        raise exit_codes.Refusal(
            "no admin macaroon is stored for this node: pass --macaroon-file, or let "
            f"lnd return it to `leyden wallet password {node.node_name!r}`; the "
            "password can stay the same",
            status=_NOT_FOUND,
        ) from None
    return vault.open_(stored, password)


def read_macaroon(file: Path) -> str:
    """Read a macaroon from a binary or text file; return it in hex."""
    content = file.read_bytes()
    if content[:2] == b"\x02\x01":
        return macaroons.parse(content.hex()).hex
    return macaroons.parse(content.decode(errors="replace")).hex


def meaning(said: str, node: NodeItem) -> str:
    """Return what a refusal of lnd means, and what to do about it."""
    for words, meant in _MEANINGS:
        if words in said.lower():
            return meant.format(name=repr(node.node_name))
    return f"the node rejected this: {said}"
