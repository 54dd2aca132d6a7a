"""Convert a node's settings to lnd's options.

Each key has the range of lnd versions that support it. An option that the node's
version lacks is left out, because lnd does not start with an unknown option.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from leyden.nodes.rules import remote_signers
from leyden.nodes.rules.node_settings import NodeSettings
from leyden.nodes.rules.versions import Version
from leyden.schemas.node_settings import TABLE
from leyden.schemas.settings import Setting, SettingKind
from leyden.values import Struct

FILES: Final = frozenset(each.file for each in TABLE.values() if each.file)


class Key(Struct, frozen=True):
    """An option's name, and the versions of lnd that have it."""

    name: str
    since: Version | None = None  # the first version that has it
    until: Version | None = None  # the first version that no longer has it

    @classmethod
    def of(cls, setting: Setting) -> "Key":
        """Return lnd's option for a setting."""
        return cls(
            setting.lnd,
            since=Version.of(setting.since) if setting.since else None,
            until=Version.of(setting.until) if setting.until else None,
        )

    def known_to(self, version: Version) -> bool:
        """Return whether this version has the option."""
        return (self.since is None or version >= self.since) and (
            self.until is None or version < self.until
        )


def lines(
    settings: NodeSettings,
    version: Version,
    home: Path,
    *,
    table: Mapping[str, Setting] = TABLE,
) -> Iterator[tuple[str, str]]:
    """List the options for these settings that this version of lnd supports."""
    for name, setting in table.items():
        key = Key.of(setting)
        if _is_passed_on(setting, settings) and key.known_to(version):
            value = _format(setting, getattr(settings, name), home)
            if value:
                yield key.name, value


def files(settings: NodeSettings) -> dict[str, bytes]:
    """Return the files that options refer to: their content, by name."""
    return {
        setting.file: _CONTENT[setting.kind](getattr(settings, name), field=name)
        for name, setting in TABLE.items()
        if setting.file and _is_passed_on(setting, settings)
    }


_CONTENT: Final[Mapping[SettingKind, Callable[..., bytes]]] = {
    SettingKind.MACAROON: remote_signers.macaroon_bytes,
    SettingKind.CERTIFICATE: remote_signers.certificate_pem,
}


def _is_passed_on(setting: Setting, settings: NodeSettings) -> bool:
    if not setting.lnd:
        return False
    return not setting.needs or bool(getattr(settings, setting.needs))


def _format(setting: Setting, value: object, home: Path) -> str:
    if setting.kind is SettingKind.SWITCH:
        return "true" if value else "false"
    if setting.file:
        return str(home / setting.file) if value else ""
    if setting.kind is SettingKind.HOST:
        return remote_signers.check_host(str(value), field=setting.lnd)
    return str(value)
