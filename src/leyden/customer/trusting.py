"""`leyden trust`, `leyden untrust`: this machine's browsers, programs, and a root."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from leyden.base import settings
from leyden.base.cli.output import as_json, print_json, print_rows
from leyden.base.rules.times import utc_now
from leyden.customer.trust import fetching, manual_steps, nss
from leyden.customer.trust.base import Did, StoreOutcome, TrustStore
from leyden.customer.trust.manual_steps import ByHand
from leyden.customer.trust.root import (
    Root,
    TrustedRoots,
    check_time,
    is_fingerprint,
    read,
)
from leyden.customer.trust.system import SystemStore
from leyden.errors import SetupError
from leyden.values import asdict

_CHANGED = frozenset({Did.TRUSTED, Did.REPLACED, Did.REMOVED})
_home = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the platform. Default: LEYDEN_HOME, or ./.leyden.",
)
_store = click.option(
    "--store",
    type=click.Choice(["all", "browsers", "system"]),
    default="all",
    show_default=True,
    help="Trust stores to change.",
)


@click.command()
@_home
@click.option(
    "--from", "url", metavar="URL", help=("URL of a platform on another machine.")
)
@click.option(
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The platform's authority.pem, if you have a copy.",
)
@click.option(
    "--fingerprint",
    help="SHA-256 fingerprint of the root, from the platform's operator.",
)
@_store
@as_json
def trust(
    home: Path | None,
    url: str | None,
    file: Path | None,
    fingerprint: str | None,
    store: str,
    *,
    as_json: bool,
) -> None:
    """Make this machine's browsers and programs trust a platform's certificates.

    Adds the root certificate of this machine's platform, or of the one at --from URL,
    to the trust stores of the system, Chromium and Firefox. Refuses a root that can
    sign for more than the platform's own names. You can run it again; `leyden untrust`
    undoes it. On macOS and Windows it changes nothing, and prints the commands to run.

    \b
    leyden trust
    leyden trust --from https://api.example.com --fingerprint 3F:9A:...
    """
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0  # Windows has none
    if store != "system" and is_root and os.environ.get("SUDO_USER"):
        raise SetupError(
            "run this command without sudo: browsers' trust stores belong to you, and "
            "we ask for your password for the system's store (or add `--store system`)"
        )
    root = _root(home, url, file)
    check_time(root, utc_now())
    if not as_json:
        _show(root)
    if fingerprint is not None:
        if not is_fingerprint(root, fingerprint):
            _refuse_fingerprint(url or str(file or home or "this platform"))
    elif url or file:
        click.confirm(
            "Does it match the fingerprint that the operator gave you outside of this "
            "connection?",
            abort=True,
            err=True,
        )
    source = _remembered().keep(root)
    if (typed := manual_steps.commands(sys.platform, root, source)) is not None:
        _tell_by_hand(typed, typed.trust, undo=typed.untrust, as_json=as_json)
    found = _stores(store, source)
    _tell(root, [each.add(root) for each in found], as_json=as_json)


@click.command()
@click.argument("domain", required=False)
@_home
@_store
@as_json
def untrust(
    domain: str | None, home: Path | None, store: str, *, as_json: bool
) -> None:
    """Remove only what `leyden trust` added.

    DOMAIN is the domain of the platform's nodes. Default: this machine's platform, or
    the only one that you trusted.

    \b
    leyden untrust
    leyden untrust nodes.example.com
    """
    remembered = _remembered()
    root = _trusted(remembered.all_(), domain, home)
    typed = manual_steps.commands(sys.platform, root, remembered.keep(root))
    if typed is not None:
        _tell_by_hand(typed, typed.untrust, undo=typed.trust, as_json=as_json)
    outcomes = [each.remove(root) for each in _stores(store, remembered.keep(root))]
    if store == "all" and not any(each.did is Did.FAILED for each in outcomes):
        remembered.forget(root)
    _tell(root, outcomes, as_json=as_json)


def is_trusted_here(home: Path) -> bool:
    """Return whether the root of a home was trusted on this machine."""
    try:
        root = read((home / "authority" / "root.pem").read_bytes())
    except (OSError, SetupError):
        return False
    return any(each.der == root.der for each in _remembered().all_())


def _root(home: Path | None, url: str | None, file: Path | None) -> Root:
    if url and file:
        raise click.UsageError("--from, --file: use only one of these options")
    if url:
        return read(fetching.fetch(url))
    if file:
        return read(file.read_bytes())
    path = _home_path(home) / "authority" / "root.pem"
    try:
        return read(path.read_bytes())
    except FileNotFoundError:
        raise SetupError(
            f"no platform in {path.parents[1]}; `leyden up` creates one, and `leyden "
            "trust --from URL` trusts one on another machine"
        ) from None


def _trusted(roots: Sequence[Root], domain: str | None, home: Path | None) -> Root:
    """Choose what to remove: what was trusted under that name."""
    if domain is None:
        try:
            here = _root(home, None, None)
        except SetupError:
            here = None
        named = here.domain if here else None
        found = [each for each in roots if named is None or each.domain == named]
        if here and not found:
            return here
    else:
        found = [each for each in roots if each.domain == domain.lower()]
    if len(found) == 1:
        return found[0]
    if not roots:
        raise SetupError("this machine trusts no platform: nothing to remove")
    domains = ", ".join(each.domain for each in roots)
    raise SetupError(
        f"DOMAIN: name the platform to remove; trusted on this machine: {domains}"
    )


def _home_path(home: Path | None) -> Path:
    environment = dict(os.environ)
    if home is not None:
        environment["LEYDEN_HOME"] = str(home)
    return settings.load(environment).home_path


def _data() -> Path:
    given = os.environ.get("XDG_DATA_HOME", "")
    return Path(given) if given.startswith("/") else Path.home() / ".local" / "share"


def _remembered() -> TrustedRoots:
    return TrustedRoots(_data())


def _stores(which: str, source: Path) -> list[TrustStore]:
    found: list[TrustStore] = []
    if which != "browsers":
        found.append(SystemStore(source, asks=sys.stdin.isatty()))
    if which != "system":
        found += nss.stores(nss.databases(Path.home(), data=_data()))
    return found


def _show(root: Root) -> None:
    print(f"{root.name}: a root certificate that can sign for {root.scope} only")
    print(
        f"valid until {root.until:%Y-%m-%d}; SHA-256 fingerprint:\n{root.fingerprint}"
    )


def _refuse_fingerprint(where: str) -> NoReturn:
    raise SetupError(
        f"--fingerprint: the root from {where} has a different fingerprint. Somebody "
        "may be intercepting your connection, or the root was replaced: ask the "
        "operator. Nothing was changed"
    )


def _tell_by_hand(typed: ByHand, do: str, *, undo: str, as_json: bool) -> NoReturn:
    """Print what to type where no store is changed for you, and exit with 1."""
    if as_json:
        print_json({"system": typed.system, "command": do, "undo": undo})
    else:
        print(
            f"Nothing was changed: on {typed.system}, leyden can't change the trust "
            f"store. Run this yourself:\n\n  {do}\n\nChrome, Edge, Safari and Firefox "
            "120 or newer use the system's store after a restart. Python, Node.js and "
            f"curl may have their own stores.\nTo undo it:\n\n  {undo}\n"
        )
    sys.exit(1)


def _tell(root: Root, outcomes: Sequence[StoreOutcome], *, as_json: bool) -> None:
    """Print what was done where, and what is left to do."""
    failed = any(each.did is Did.FAILED for each in outcomes)
    in_browsers = [each for each in outcomes if each.store != SystemStore.label]
    if as_json:
        shown: dict[str, Any] = {
            "name": root.name,
            "may_vouch_for": str(root.scope),
            "fingerprint": root.fingerprint,
            "stores": [asdict(each) for each in outcomes],
        }
        print_json(shown)
    else:
        rows = [
            {"store": each.store, "result": each.did.value, "where": each.where}
            for each in outcomes
        ]
        print_rows(rows, empty="found no trust store")
        for each in outcomes:
            if each.why:
                print(f"{each.store}, {each.where}: {each.why}", file=sys.stderr)
        if any(each.did in _CHANGED for each in in_browsers):
            print("Restart open browsers.")
        if not in_browsers:
            print(
                "Found no browser's trust store: start your browser once, then run "
                "this again."
            )
        if any(each.did in {Did.TRUSTED, Did.REPLACED} for each in outcomes):
            print(f"To undo this: `leyden untrust {root.domain}`.")
    sys.exit(int(failed))
