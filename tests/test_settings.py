import json
from pathlib import Path

import pytest

from leyden.errors import SetupError
from leyden.settings import BESIDE, every_setting, load


def test_every_setting_has_a_sentence_and_stands_in_the_docs() -> None:
    documented = Path("docs/settings.md").read_text()
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
