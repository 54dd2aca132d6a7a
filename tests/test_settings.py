import json
from pathlib import Path
from typing import Any

import pytest

from leyden.base.settings import BESIDE, Settings, every_setting, load, own_names
from leyden.errors import SetupError


def test_every_setting_has_a_sentence_and_stands_in_the_docs() -> None:
    documented = Path("docs/operators/settings.md").read_text()
    for name, default, sentence in every_setting():
        assert sentence.endswith("."), name
        row = f"| `{name}` | `{json.dumps(default)}` | {sentence} |"
        assert row in documented, "see `leyden config --markdown`"


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "leyden.toml").write_text('api_port = 8001\nlog_format = "json"\n')
    settings = load({"LEYDEN_HOME": str(tmp_path), "LEYDEN_API_PORT": "8002"})
    assert settings.api_port == 8002
    assert settings.log_format == "json"
    assert settings.database == f"sqlite:///{tmp_path}/leyden.db"


def test_a_value_may_come_from_a_file_of_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("postgresql://ada@localhost/leyden\n")
    settings = load({"LEYDEN_DATABASE_URL_FILE": str(secret)})
    assert settings.database == "postgresql://ada@localhost/leyden"


def test_a_value_and_a_file_with_it_are_not_both_given(tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("postgresql://ada@localhost/leyden\n")
    given = {
        "LEYDEN_DATABASE_URL": "sqlite:///other.db",
        "LEYDEN_DATABASE_URL_FILE": str(secret),
    }
    both = "LEYDEN_DATABASE_URL, LEYDEN_DATABASE_URL_FILE: set one of them"
    with pytest.raises(SetupError, match=both):
        load(given)


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("LEYDEN_API_PORT", "ten", "api_port: Expected `int`"),
        ("LEYDEN_API_PORT", "70000", "api_port: Expected `int` <= 65535"),
        ("LEYDEN_LOG_LEVEL", "loud", "log_level: Invalid enum value"),
        ("LEYDEN_API_PROT", "1", "did you mean api_port?"),
        ("LEYDEN_API_TLS_KEY", "key.pem", "set both or neither"),
        ("LEYDEN_DATABASE_URL_FILE", "/nowhere", "LEYDEN_DATABASE_URL_FILE: "),
        ("LEYDEN_CONFIG", "/nowhere.toml", "/nowhere.toml does not exist"),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    variable: str, value: str, reason: str
) -> None:
    with pytest.raises(SetupError, match=reason.replace("?", r"\?")):
        load({variable: value})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("api_port = ", "leyden.toml: "),
        ("api_prot = 1", "did you mean api_port?"),
        ('api_port = "8000"', "api_port: Expected `int`, got `str`"),
    ],
)
def test_a_wrong_file_is_refused_by_name(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "leyden.toml").write_text(text)
    with pytest.raises(SetupError, match=reason.replace("?", r"\?")):
        load({"LEYDEN_HOME": str(tmp_path)})


def test_what_the_commands_read_beside_the_settings_is_let_be() -> None:
    load({f"LEYDEN_{name}": "/nowhere" for name in BESIDE if name != "CONFIG"})


@pytest.mark.parametrize(
    ("given", "origins"),
    [
        ({}, ("http://127.0.0.1:8000", "http://localhost:8000")),
        ({"api_port": 80}, ("http://127.0.0.1", "http://localhost")),
        ({"api_host": "10.1.2.3"}, ("http://10.1.2.3:8000",)),
        ({"api_host": "::1"}, ("http://[::1]:8000", "http://localhost:8000")),
        (
            {"api_host": "0.0.0.0"},  # noqa: S104  what an operator may well set
            ("http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000"),
        ),
        (
            {
                "api_host": "api.example",
                "api_port": 443,
                "api_tls_certificate": "a",
                "api_tls_key": "b",
            },
            ("https://api.example",),
        ),
        (
            {"acme_api_name": "api.example", "acme_directory": "https://a.example"},
            ("https://api.example:8000",),
        ),
        (
            {"dashboard_origins": "https://a.example/, https://b.example:8443"},
            ("https://a.example", "https://b.example:8443"),
        ),
    ],
)
def test_pages_of_the_api_may_talk_to_nodes_or_those_that_are_named(
    given: dict[str, Any], origins: tuple[str, ...]
) -> None:
    assert own_names.origins(Settings(**given)) == origins


@pytest.mark.parametrize(
    "text", ["*", "https://a.example/pages", "null", "https://*.example", "a.example"]
)
def test_what_is_no_origin_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(SetupError, match="dashboard_origins: an origin must look like"):
        own_names.origins(Settings(dashboard_origins=text))
