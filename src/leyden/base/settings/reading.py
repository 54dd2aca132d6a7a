"""Reading settings from environment and file, with errors by name."""

import difflib
import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import get_type_hints

import msgspec
from msgspec.structs import fields

from leyden.base.settings.fields import Settings
from leyden.errors import SetupError

PREFIX = "LEYDEN_"
# These are read by the commands themselves, before or beside the settings.
BESIDE = frozenset(
    {"ARCHIVES_SUMS", "ARCHIVES_URL"}
    | {"CONFIG", "CACHE", "PYTHON", "UV", "URL", "KEY", "ORGANIZATION", "CA"}
    | {"GATEWAY", "UNLOCK_PASSWORD", "UNLOCK_SECRET", "PROFILE"}
    | {"WALLET_PASSWORD", "NEW_PASSWORD", "SEED"}
)

# Settings that are gone, with what replaces them.
REMOVED = {
    "uploads_per_minute": "uploads count as other requests (`requests_per_minute`)",
}


def words(text: str) -> tuple[str, ...]:
    """Split a comma-separated setting into its words."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def load(environment: Mapping[str, str]) -> Settings:
    """Read the settings; name a wrong or unknown one, with the reason."""
    given = _from_environment(environment)
    home = Path(str(given.get("home", Settings().home))).expanduser()
    file = Path(environment.get(f"{PREFIX}CONFIG", home / "leyden.toml"))
    file_settings = _from_file(file, required=f"{PREFIX}CONFIG" in environment)
    values: dict[str, object] = {}
    types = get_type_hints(Settings, include_extras=True)
    for name, value in {**file_settings, **given}.items():
        try:
            values[name] = msgspec.convert(value, types[name], strict=name not in given)
        except msgspec.ValidationError as error:
            where = f"{PREFIX}{name.upper()}" if name in given else str(file)
            raise SetupError(f"{name}: {error} (from {where})") from None
    settings = Settings(**values)  # type: ignore[arg-type]
    if bool(settings.api_tls_certificate) != bool(settings.api_tls_key):
        raise SetupError("api_tls_certificate, api_tls_key: set both or neither")
    source = settings.price_source
    if source and not source.startswith(("https://", "http://")):
        raise SetupError("price_source: must be an https:// URL")
    _check_acme(settings)
    _check_smtp(settings)
    return settings


def _check_acme(given: Settings) -> None:
    if given.acme_directory and not given.acme_directory.startswith("https://"):
        raise SetupError("acme_directory: must be an https:// URL")
    if given.acme_api_name and not given.acme_directory:
        raise SetupError("acme_api_name: needs acme_directory")
    if given.acme_api_name and given.api_tls_certificate:
        raise SetupError("acme_api_name, api_tls_certificate: set one of them")
    if given.api_tls and (given.api_tls_certificate or given.acme_api_name):
        raise SetupError("api_tls, api_tls_certificate, acme_api_name: set one of them")
    if bool(given.acme_binding_id) != bool(given.acme_binding_secret):
        raise SetupError("acme_binding_id, acme_binding_secret: set both or neither")


def _check_smtp(given: Settings) -> None:
    if not given.smtp_host:
        return
    if not given.smtp_from:
        raise SetupError("smtp_from: smtp_host is set, so say whom emails come from")
    if bool(given.smtp_user) != bool(given.smtp_password):
        raise SetupError("smtp_user, smtp_password: set both or neither")
    if given.smtp_security == "none" and not _is_here(given.smtp_host):
        raise SetupError(
            "smtp_security: none is allowed only for a mail server on this machine; "
            "use starttls or tls"
        )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    names = {field.name for field in fields(Settings)}
    given = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX)
        if name in BESIDE:
            continue
        if name.lower() in names:
            given[name.lower()] = value
        elif name.endswith("_FILE") and name.removesuffix("_FILE").lower() in names:
            direct = variable.removesuffix("_FILE")
            if direct in environment:
                raise SetupError(f"{direct}, {variable}: set one of them")
            given[name.removesuffix("_FILE").lower()] = _read(variable, value)
        else:
            raise SetupError(f"{variable}: {_unknown(name.lower(), names)}")
    return given


def _from_file(path: Path, *, required: bool) -> dict[str, object]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        if required:
            raise SetupError(f"{PREFIX}CONFIG: {path} does not exist") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path}: {error}") from None
    try:
        file_settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{path}: {error}") from None
    names = {field.name for field in fields(Settings)}
    for name in file_settings:
        if name not in names:
            raise SetupError(f"{path}: {name}: {_unknown(name, names)}")
    return file_settings


def _read(variable: str, path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{variable}: {error}") from None


def _unknown(name: str, names: set[str]) -> str:
    if name in REMOVED:
        return f"this setting was removed; {REMOVED[name]}"
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"unknown setting; {hint}`leyden config` lists all settings"
