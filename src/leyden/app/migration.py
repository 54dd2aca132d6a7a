"""Migrating the schema, and creating keys and identity of a new installation."""

from leyden import processes
from leyden.app import authorities, identity, restored
from leyden.domain.times import utc_now
from leyden.services.operators import sealing_keys
from leyden.settings import Settings
from leyden.storage import schema
from leyden.storage.secrets import Keyring, Sealer, load_keyring, save_keyring

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
