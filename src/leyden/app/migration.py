"""Migrating the schema, and creating keys and identity of a new installation."""

from leyden.backups.wiring import restored
from leyden.base import processes
from leyden.base.database import schema, sealing_keys
from leyden.base.database.secrets import Keyring, Sealer, load_keyring, save_keyring
from leyden.base.rules.times import utc_now
from leyden.base.settings import Settings
from leyden.nodes.wiring import authorities, identity

_LOCK = ".migrate.lock"


def migrate(settings: Settings) -> str:
    """Create or upgrade the schema, and create missing keys.

    Return the newest schema revision.
    """
    restored.refuse_unconfirmed(settings)
    with processes.locked(settings.home_path / _LOCK):
        newest = schema.migrate(settings.database)
        _make_files(settings)
    return newest


def _make_files(settings: Settings) -> None:
    if not settings.secrets_path.exists():
        sealing_keys.refuse_lost(settings.database, settings.secrets_path)
        save_keyring(settings.secrets_path, Keyring.new())
    keyring = load_keyring(settings.secrets_path)
    sealing_keys.check(settings.database, keyring)
    identity.ensure(settings.home_path)
    sealer = Sealer(keyring, file=settings.secrets_path)
    authorities.ensure(settings, sealer, now=utc_now())
