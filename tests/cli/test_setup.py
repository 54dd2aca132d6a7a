from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from leyden.settings import every_setting
from tests.cli.conftest import Typed, told
from tests.ports import free_port


def test_config_prints_every_setting(typed: Typed) -> None:
    printed = typed("config").stdout
    rows = told(typed("config", "--json"))["settings"]
    assert [row["name"] for row in rows] == [name for name, _, _ in every_setting()]
    for name, _, sentence in every_setting():
        assert f"{name} = " in printed
        assert sentence in printed


def test_config_keeps_secrets_to_itself(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_TESTNET_RPC_PASSWORD", "hunter2")
    monkeypatch.setenv("LEYDEN_DATABASE_URL", "postgresql://ada:hunter2@localhost/x")
    for words in (("config",), ("config", "--json")):
        printed = typed(*words).stdout
        assert "hunter2" not in printed
        assert "(set)" in printed


def test_a_wrong_setting_is_refused_by_every_command(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEYDEN_API_PORT", "ten")
    for words in (("config",), ("migrate",), ("org", "list")):
        refused = typed(*words)
        assert refused.exit_code == 1
        assert refused.stderr.startswith("leyden: api_port: ")


def test_migrating_makes_the_keys_once(typed: Typed, tmp_path: Path) -> None:
    typed("migrate")
    before = (tmp_path / "home" / "secrets.json").read_bytes()
    typed("migrate")
    assert (tmp_path / "home" / "secrets.json").read_bytes() == before
    (tmp_path / "home" / "secrets.json").unlink()
    refused = typed("migrate")
    assert "restore it from your backup" in refused.stderr


def test_rotating_the_keys(typed: Typed) -> None:
    typed("migrate")
    assert "now back up" in typed("secrets", "rotate").stdout
    assert typed("org", "list").exit_code == 0


def test_every_command_explains_itself(typed: Typed) -> None:
    listed = typed("--help").stdout
    for words in (("org",), ("key", "create"), ("secrets", "rotate"), ("serve",)):
        assert words[0] in listed
        explained = typed(*words, "--help")
        assert explained.exit_code == 0
        assert len(explained.stdout.splitlines()) > 3


class _Ready(BaseHTTPRequestHandler):
    """A platform of another home, on our port."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ready"}')

    def log_message(self, *_: object) -> None:
        pass


def test_another_homes_platform_is_not_taken_for_this_ones(
    typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", free_port()), _Ready) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LEYDEN_API_PORT", str(server.server_port))
        shown = typed("status", "--json")
        server.shutdown()
    assert shown.exit_code == 1
    assert '"api": "not running"' in shown.stdout
