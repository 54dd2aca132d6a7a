"""Parse and check a node's settings, including rules between settings.

`schemas/node_settings.py` lists the settings and their allowed values.

All settings are checked together, before a node gets them: with some values lnd exits
only after its wallet is unlocked (an alias of 33 bytes), and with some combinations it
does not start (a smallest channel above the largest).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from leyden.base.rules.addresses import Reach
from leyden.base.rules.combining_marks import compose
from leyden.errors import Malformed
from leyden.events.rules import webhook_urls
from leyden.events.rules.webhook_urls import USUAL, Allowed
from leyden.nodes.rules import remote_signers, whitelist
from leyden.schemas.node_settings import (
    MASK,
    TABLE,
    NodeSettingFields,
    SettingsAnswer,
    for_log,
)
from leyden.schemas.settings import Setting, SettingKind
from leyden.values import Struct, asdict, fields, hiding, replace

SMALLEST_CHANNEL: Final = 20_000  # lnd's own default for minchansize
LARGEST_CHANNEL: Final = 16_777_215
LARGEST_WUMBO_CHANNEL: Final = 1_000_000_000
_LONGEST_ALIAS: Final = 32  # bytes, not characters
_UNSHOWABLE: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_DIGITS = re.compile(r"[0-9]{1,16}")
_SPEAKABLE = re.compile(r"[A-Za-z0-9_]{1,40}")


class NodeSettings(NodeSettingFields[tuple[str, ...]], frozen=True, kw_only=True):
    """All settings of a node, as its owner wants them."""

    __repr__ = hiding(*(each.name for each in TABLE.values() if each.is_hidden))


NAMES: Final = tuple(TABLE)
SECRETS: Final = frozenset(each.name for each in TABLE.values() if each.is_secret)
# Settings of the gateway and of webhooks; lnd does not get them.
LIVE: Final = frozenset(each.name for each in TABLE.values() if not each.restarts)
# Fields that the API returns; sent back, they are ignored.
IGNORED: Final = frozenset(each.name for each in fields(SettingsAnswer)) - set(NAMES)
_REQUIRED: Final = tuple(each.name for each in TABLE.values() if each.is_required)
_DEFAULTS: Final = {
    each.name: each.default for each in TABLE.values() if not each.is_required
}


class AllowedCalls(Struct, frozen=True, kw_only=True):
    """The addresses that may be called, for each setting with an address."""

    webhook: Reach = Reach()
    remotesigninghost: Reach = Reach()
    tor: bool = False  # whether nodes have Tor, for onion addresses


PUBLIC: Final = AllowedCalls()


def parse(
    sent: object,
    *,
    webhooks: Allowed = USUAL,
    calls: AllowedCalls = PUBLIC,
    listen: bool = False,
) -> NodeSettings:
    """Parse the settings of a new node; raise Malformed for one that is wrong.

    `listen` is the operator's default for that setting.
    """
    known = _known(sent)
    for name in _REQUIRED:
        if name not in known:
            raise Malformed(f"{name}: is required")
    settings = _read({**_DEFAULTS, "listen": listen, **known}, webhooks)
    if settings.webhook:
        webhook_urls.check_address(settings.webhook, calls.webhook)
    if settings.remotesigninghost:
        _check_signer_address(settings, calls)
    if settings.torskipproxyforclearnettargets:
        _check_tor(calls)
    return settings


def change(
    current: NodeSettings,
    sent: object,
    *,
    webhooks: Allowed = USUAL,
    calls: AllowedCalls = PUBLIC,
) -> NodeSettings:
    """Return the current settings with the given changes.

    A secret that is sent back masked, as the API shows it, stays unchanged. An
    unchanged address that may no longer be called does not prevent other
    changes; it is checked again when it is called.
    """
    known = _known(sent)
    for name in SECRETS:
        if known.get(name) == MASK:
            del known[name]
    settings = _read({**asdict(current), **known}, webhooks)
    if settings.webhook and settings.webhook != current.webhook:
        webhook_urls.check_address(settings.webhook, calls.webhook)
    moved = settings.remotesigninghost != current.remotesigninghost
    begun = settings.remotesigning and not current.remotesigning
    if settings.remotesigninghost and (moved or begun):
        _check_signer_address(settings, calls)
    wants_tor = settings.torskipproxyforclearnettargets
    if wants_tor and not current.torskipproxyforclearnettargets:
        _check_tor(calls)
    return settings


def needs_restart(before: NodeSettings, after: NodeSettings) -> bool:
    """Return whether the change requires a restart of lnd."""
    return any(
        getattr(before, name) != getattr(after, name)
        for name in NAMES
        if name not in LIVE
    )


def differences(
    before: NodeSettings, after: NodeSettings
) -> dict[str, tuple[str | bool, str | bool]]:
    """Return the settings that differ, with old and new value for the audit log."""
    return {
        name: (for_log(name, _plain(before, name)), for_log(name, _plain(after, name)))
        for name in NAMES
        if getattr(before, name) != getattr(after, name)
    }


def _plain(settings: NodeSettings, name: str) -> str | bool:
    value: str | bool | tuple[str, ...] = getattr(settings, name)
    return ", ".join(value) if isinstance(value, tuple) else value


def show(settings: NodeSettings, *, webhook_secret: str) -> dict[str, object]:
    """Return the settings as the API shows them: secrets masked, our fields added."""
    shown: dict[str, object] = asdict(settings)
    shown["whitelist"] = list(settings.whitelist)
    for name in SECRETS:
        shown[name] = MASK if shown[name] else ""
    return {**shown, "sphinx": False, "webhook_secret": webhook_secret}


def without_secrets(settings: NodeSettings) -> NodeSettings:
    """Return the settings that may be stored in plaintext.

    The secrets are stored encrypted, by name.
    """
    return with_secrets(settings, {})


def secrets_of(settings: NodeSettings) -> dict[str, str]:
    """Return the secrets to encrypt, by name."""
    return {name: getattr(settings, name) for name in sorted(SECRETS)}


def with_secrets(settings: NodeSettings, secrets: Mapping[str, str]) -> NodeSettings:
    """Return the settings with their decrypted secrets filled in."""
    stored: dict[str, Any] = {name: secrets.get(name, "") for name in SECRETS}
    return replace(settings, **stored)


def _known(given: object) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise Malformed("settings: must be an object")
    sent = {name: value for name, value in given.items() if name not in IGNORED}
    for name in sent:
        if name not in NAMES:
            spelled = name if _SPEAKABLE.fullmatch(str(name)) else "a name"
            raise Malformed(f"settings: unknown setting {spelled}")
    return sent


def _read(values: Mapping[str, object], webhooks: Allowed) -> NodeSettings:
    read: dict[str, Any] = {
        name: _READ[setting.kind](setting, values[name])
        for name, setting in TABLE.items()
    }
    settings = NodeSettings(**read)
    if settings.webhook:
        webhook_urls.check(settings.webhook, webhooks)
    _check_channel_sizes(settings)
    _check_zero_confirmation(settings)
    _check_remote_signer(settings)
    return settings


def _switch(setting: Setting, value: object) -> bool:
    if not isinstance(value, bool):
        raise Malformed(f"{setting.name}: must be true or false")
    return value


def _text(setting: Setting, value: object) -> str:
    if not isinstance(value, str):
        raise Malformed(f"{setting.name}: must be a string")
    return value


def _digits(setting: Setting, value: object) -> str:
    """Parse a number from a string strictly: neither 1 nor " 1" is valid."""
    name, text = setting.name, _text(setting, value)
    if not text:
        return ""
    if not _DIGITS.fullmatch(text):
        raise Malformed(f"{name}: must be a string of 1 to 16 digits, or empty")
    if int(text) < setting.least:
        raise Malformed(f"{name}: must be at least {setting.least:,}, or empty")
    if setting.maximum is not None and int(text) > setting.maximum:
        raise Malformed(f"{name}: must be at most {setting.maximum:,}")
    return text


def _alias(setting: Setting, value: object) -> str:
    text = _text(setting, value)
    alias = compose(text, limit=_LONGEST_ALIAS) or ""
    if alias and any(unicodedata.category(each) in _UNSHOWABLE for each in text):
        raise Malformed("alias: must not contain control, format or line characters")
    if not 1 <= len(alias.encode()) <= _LONGEST_ALIAS:
        raise Malformed(f"alias: must have 1 to {_LONGEST_ALIAS} bytes of UTF-8")
    if alias.startswith('"'):  # lnd would parse it as a quoted value
        raise Malformed('alias: must not begin with "')
    return alias


def _color(setting: Setting, value: object) -> str:
    text = _text(setting, value)
    if not _COLOR.fullmatch(text):
        raise Malformed("color: must look like #RRGGBB")
    return text


def _addresses(_: Setting, value: object) -> tuple[str, ...]:
    return whitelist.parse(value)


_READ: Final[Mapping[SettingKind, Callable[[Setting, object], object]]] = {
    SettingKind.SWITCH: _switch,
    SettingKind.DIGITS: _digits,
    SettingKind.ALIAS: _alias,
    SettingKind.COLOR: _color,
    SettingKind.ADDRESSES: _addresses,
    # These are checked once all settings are parsed.
    SettingKind.URL: _text,
    SettingKind.HOST: _text,
    SettingKind.MACAROON: _text,
    SettingKind.CERTIFICATE: _text,
}


def _check_channel_sizes(settings: NodeSettings) -> None:
    """Raise Malformed for sizes that lnd rejects at its start; unset is the default."""
    largest = LARGEST_WUMBO_CHANNEL if settings.wumbo else LARGEST_CHANNEL
    upper = int(settings.maxchansize or largest)
    if upper > largest:
        raise Malformed(
            f"maxchansize: must be at most {LARGEST_CHANNEL:,}, "
            f"or {LARGEST_WUMBO_CHANNEL:,} with wumbo"
        )
    if int(settings.minchansize or SMALLEST_CHANNEL) > upper:
        field_ = "minchansize" if settings.minchansize else "maxchansize"
        raise Malformed(
            f"{field_}: minchansize ({SMALLEST_CHANNEL:,} when empty) must not be "
            f"larger than maxchansize ({largest:,} when empty)"
        )


def _check_zero_confirmation(settings: NodeSettings) -> None:
    if settings.zeroconf and not settings.optionscidalias:
        raise Malformed("zeroconf: optionscidalias must be true too")


def _check_remote_signer(settings: NodeSettings) -> None:
    parts = {
        "remotesigninghost": remote_signers.check_host,
        "remotesigningmacaroon": remote_signers.macaroon_bytes,
        "remotesigningcert": remote_signers.certificate_pem,
    }
    for name, check in parts.items():
        value = getattr(settings, name)
        if value:
            check(value, field=name)
        elif settings.remotesigning:
            raise Malformed(f"{name}: is required when remotesigning is true")


def _check_signer_address(settings: NodeSettings, calls: AllowedCalls) -> None:
    remote_signers.check_address(
        settings.remotesigninghost, calls.remotesigninghost, field="remotesigninghost"
    )


def _check_tor(calls: AllowedCalls) -> None:
    if not calls.tor:
        raise Malformed(
            "torskipproxyforclearnettargets: must be false, because nodes of this "
            "platform have no Tor; its operator can set tor_socks"
        )
