"""The unlocker: believes nothing before it has checked, and then unlocks."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leyden.customer.unlocker.nodes import SecretSource, UnlockedNode, load
from leyden.customer.unlocker.receiver import Unlocker, receiving
from leyden.errors import SetupError
from leyden.events.rules.webhooks import WebhookType, body, signature_headers
from leyden.values import replace
from tests.customer.cli.locked_node import API, PASSWORD, LockedNode
from tests.events.webhooks.conftest import Serving
from tests.waiting import until

NOW = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
SECRET, OTHER_SECRET = "3f" * 32, "a7" * 32
OTHER_API = "pier.nodes.localhost"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Serving:
    return Serving(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def locked(authority: Serving) -> Iterator[LockedNode]:
    with LockedNode(authority) as node:
        yield node


def care_for(locked: LockedNode, *, secret: str = SECRET) -> UnlockedNode:
    return UnlockedNode(
        api=locked.api,
        secret=SecretSource(given=secret),
        password=SecretSource(given=PASSWORD),
        ca_file=locked.ca_file,
        connect=locked.address,
    )


def an_unlocker(*nodes: UnlockedNode, **changes: Any) -> Unlocker:
    settings: dict[str, Any] = {
        "clock": lambda: NOW,
        "at_once": 2,
        "give_up_after_s": 20,
        "must_be_signed": False,
    }
    return Unlocker(nodes, **{**settings, **changes})


WAITING = body(WebhookType.STATUS, {"status": "waiting_unlock"}, api=API)


def plain(secret: str = SECRET) -> dict[str, str]:
    return {"service-secret": secret}


def signed(
    text: str = WAITING, *, secret: str = SECRET, sent: datetime = NOW
) -> dict[str, str]:
    headers = signature_headers([secret], event_id="msg_tide", sent=sent, body=text)
    return {name.lower(): value for name, value in headers.items()}


@pytest.mark.parametrize("headers", [plain(), signed()])
async def test_a_node_that_asks_for_it_is_unlocked_without_leaving_macaroons(
    locked: LockedNode, headers: dict[str, str], logged: pytest.LogCaptureFixture
) -> None:
    answer = await an_unlocker(care_for(locked)).take(headers, WAITING.encode())
    assert answer == (200, "unlocked")
    assert locked.state == "RPC_ACTIVE"
    (request,) = locked.unlocks
    assert request["stateless_init"] is True
    assert API in logged.text
    for hidden in (SECRET, PASSWORD, request["wallet_password"]):
        assert hidden not in logged.text


def event_text(**changes: object) -> str:
    event: dict[str, object] = {
        "type": "status",
        "details": {"status": "waiting_unlock"},
        "api": API,
    }
    return json.dumps({**event, **changes})


@pytest.mark.parametrize(
    ("headers", "text", "status"),
    [
        ({}, WAITING, 401),
        (plain(""), WAITING, 401),
        (plain(OTHER_SECRET), WAITING, 401),
        (plain(SECRET[:-1]), WAITING, 401),
        (plain(SECRET + " "), WAITING, 401),
        (plain("ü"), WAITING, 401),
        (plain("\udcff"), WAITING, 401),
        (signed() | {"webhook-id": "\udcff"}, WAITING, 401),
        ({"authorization": SECRET}, WAITING, 401),
        (signed(secret=OTHER_SECRET) | plain(), WAITING, 401),
        (signed(event_text(type="error")), WAITING, 401),
        (signed(sent=NOW - timedelta(minutes=6)), WAITING, 401),
        (signed(sent=NOW + timedelta(minutes=6)), WAITING, 401),
        (plain() | {"webhook-id": "msg_tide"}, WAITING, 401),
        (plain() | {"webhook-signature": "v1,"}, WAITING, 401),
        (plain(), "", 400),
        (plain(), "[]", 400),
        (plain(), "{" * 1000, 400),
        (plain(), event_text().replace('"waiting_unlock"', "[" * 20_000), 400),
        (plain(), '{"type": "status", "details": 7, "api": "x"}', 400),
        (plain(), event_text(api=7), 400),
        (plain(), event_text(api=OTHER_API), 403),
        (plain(), event_text(api=f"{API}.evil.example"), 403),
        (plain(), event_text(api=""), 403),
        (plain(), event_text(type="error"), 200),
        (plain(), event_text(type="update", details={"update_available": "true"}), 200),
        (plain(), event_text(details={"status": "stopped"}), 200),
        (plain(), event_text(details={"status": "waiting_init"}), 200),
        (plain(), event_text(details={"status": ["waiting_unlock"]}), 200),
        (plain(), event_text(details={}), 200),
    ],
)
async def test_whatever_is_not_right_unlocks_nothing(
    locked: LockedNode, headers: dict[str, str], text: str, status: int
) -> None:
    unlocker = an_unlocker(care_for(locked))
    answer = await unlocker.take(headers, text.encode())
    assert answer[0] == status
    assert SECRET not in answer[1]
    await asyncio.sleep(0)
    assert locked.unlocks == []


async def test_a_signature_can_be_demanded(locked: LockedNode) -> None:
    unlocker = an_unlocker(care_for(locked), must_be_signed=True)
    assert (await unlocker.take(plain(), WAITING.encode()))[0] == 401
    assert (await unlocker.take(signed(), WAITING.encode()))[0] == 200


async def test_a_secret_opens_its_own_node_alone(
    locked: LockedNode, authority: Serving
) -> None:
    with LockedNode(authority, api=OTHER_API) as other:
        unlocker = an_unlocker(care_for(locked), care_for(other, secret=OTHER_SECRET))
        swapped = plain(OTHER_SECRET)
        assert (await unlocker.take(swapped, WAITING.encode()))[0] == 403
        assert (await unlocker.take(swapped, event_text(api=OTHER_API).encode()))[
            0
        ] == 200
        assert (locked.unlocks, len(other.unlocks)) == ([], 1)


async def test_after_a_rotation_both_secrets_are_good_without_a_restart(
    locked: LockedNode, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{OTHER_SECRET}\n")
    unlocker = an_unlocker(replace(care_for(locked), secret=SecretSource(file=file)))
    assert (await unlocker.take(signed(), WAITING.encode()))[0] == 401
    file.write_text(f"{SECRET}\n{OTHER_SECRET}\n")
    assert (await unlocker.take(signed(), WAITING.encode()))[0] == 200


async def test_a_wrong_password_is_tried_once(
    locked: LockedNode, logged: pytest.LogCaptureFixture
) -> None:
    node = replace(care_for(locked), password=SecretSource(given="a guess"))
    answer = await an_unlocker(node).take(plain(), WAITING.encode())
    assert answer == (500, "not unlocked")
    assert len(locked.unlocks) == 1
    assert "rejects the password" in logged.text
    assert "a guess" not in logged.text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("NON_EXISTING", "has no wallet yet"),
        ("UNLOCKED", "was not locked"),
        ("SERVER_ACTIVE", "was not locked"),
    ],
)
async def test_a_node_that_is_not_locked_is_left_alone(
    authority: Serving, state: str, words: str
) -> None:
    with LockedNode(authority, state=state) as node:
        answer = await an_unlocker(care_for(node)).take(plain(), WAITING.encode())
        assert answer == (200, words)
        assert node.unlocks == []


async def test_a_node_that_does_not_answer_yet_is_tried_again(
    authority: Serving,
) -> None:
    with LockedNode(authority, away_for=2) as node:
        answer = await an_unlocker(care_for(node)).take(plain(), WAITING.encode())
        assert answer == (200, "unlocked")


async def test_a_node_that_stays_away_is_given_up(authority: Serving) -> None:
    with LockedNode(authority, away_for=1000) as node:
        unlocker = an_unlocker(care_for(node), give_up_after_s=0.1)
        answer = await unlocker.take(plain(), WAITING.encode())
        assert answer == (500, "not unlocked")


async def test_nobody_but_the_node_itself_gets_the_password(
    locked: LockedNode, authority: Serving
) -> None:
    with LockedNode(authority, api="evil.example") as impostor:
        node = replace(care_for(locked), connect=impostor.address)
        unlocker = an_unlocker(node, give_up_after_s=0.1)
        assert (await unlocker.take(plain(), WAITING.encode()))[0] == 500
        assert impostor.unlocks == []


async def test_an_authority_of_the_internet_is_not_trusted_for_a_node(
    locked: LockedNode, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stranger = Serving(tmp_path_factory.mktemp("stranger"))
    node = replace(care_for(locked), ca_file=stranger.ca_file)
    unlocker = an_unlocker(node, give_up_after_s=0.1)
    assert (await unlocker.take(plain(), WAITING.encode()))[0] == 500
    assert locked.unlocks == []


async def test_the_same_event_twice_at_once_unlocks_once(locked: LockedNode) -> None:
    locked.may_answer.clear()
    unlocker = an_unlocker(care_for(locked))
    both = [
        asyncio.create_task(unlocker.take(plain(), WAITING.encode())) for _ in range(2)
    ]
    await until(lambda: locked.unlocks)
    locked.may_answer.set()
    assert await asyncio.gather(*both) == [(200, "unlocked")] * 2
    assert len(locked.unlocks) == 1


async def test_the_platform_is_answered_before_it_loses_patience(
    locked: LockedNode,
) -> None:
    locked.may_answer.clear()
    unlocker = an_unlocker(care_for(locked), answer_within_s=0.05)
    assert await unlocker.take(plain(), WAITING.encode()) == (202, "unlocking")
    locked.may_answer.set()
    await until(lambda: locked.state == "RPC_ACTIVE")
    await unlocker.close()


async def test_only_so_many_are_unlocked_at_once(authority: Serving) -> None:
    gate = threading.Event()
    nodes = [LockedNode(authority, api=f"pier{n}.localhost") for n in range(5)]
    for node in nodes:
        node.may_answer = gate
        node.__enter__()
    try:
        unlocker = an_unlocker(*map(care_for, nodes), at_once=2)
        unlocker.begin_all()
        await until(lambda: sum(node.at_once for node in nodes) == 2)
        await asyncio.sleep(0.1)
        assert sum(node.at_once for node in nodes) == 2
        gate.set()
        await until(lambda: all(node.state == "RPC_ACTIVE" for node in nodes))
        await unlocker.close()
    finally:
        for node in nodes:
            node.__exit__()


async def test_over_http_one_header_twice_is_refused_and_other_methods_are(
    locked: LockedNode,
) -> None:
    unlocker = an_unlocker(care_for(locked))
    async with receiving(unlocker, host="127.0.0.1", port=0, tls=None) as port:
        twice = (
            f"POST / HTTP/1.1\r\nHost: x\r\nService-Secret: {SECRET}\r\n"
            f"Service-Secret: {SECRET}\r\n"
            f"Content-Length: {len(WAITING)}\r\n\r\n{WAITING}"
        )
        assert (await _raw(port, twice)).startswith("HTTP/1.1 401")
        bytes_ = twice.replace(f"Service-Secret: {SECRET}\r\n", "", 1)
        bytes_ = bytes_.replace(SECRET, "\udcff")
        assert (await _raw(port, bytes_)).startswith("HTTP/1.1 401")
        assert (await _raw(port, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")).startswith(
            "HTTP/1.1 405"
        )
        flood = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {10**10}\r\n\r\n"
        assert (await _raw(port, flood + "x" * 200_000)).startswith("HTTP/1.1 413")
    assert locked.unlocks == []


async def _raw(port: int, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode(errors="surrogateescape"))
    answer = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return answer.decode()


def test_a_file_of_nodes_is_read_and_checked(
    authority: Serving, tmp_path: Path
) -> None:
    (tmp_path / "harbour.secret").write_text(f"{SECRET}\n")
    (tmp_path / "harbour.password").write_text(" with spaces \r\n")
    (tmp_path / "ca.pem").write_bytes(authority.ca_file.read_bytes())
    (tmp_path / "empty.pem").write_text("-----BEGIN")
    config = tmp_path / "nodes.toml"
    listed = (
        f'[[node]]\napi = "{API}"\nsecret_file = "harbour.secret"\n'
        'password_file = "harbour.password"\nca_file = "ca.pem"\n'
    )
    config.write_text(listed)
    (node,) = load(config)
    assert node.secrets == [SECRET]
    assert node.password.read() == " with spaces "
    for text, why in (
        (listed + listed, "lists a node twice"),
        (listed.replace("ca.pem", "no.pem"), "no certificate"),
        (listed.replace("ca.pem", "empty.pem"), "no certificate"),
        (listed.replace("harbour.secret", "no.secret"), "cannot be read"),
        (listed + 'pasword = "x"\n', "pasword"),
        ("[[node]]\n", "api"),
        (listed + 'connect = "gateway"\n', "HOST:PORT"),
        ("nonsense", "nodes.toml"),
    ):
        config.write_text(text)
        with pytest.raises(SetupError, match=why):
            load(config)
    config.write_text(listed)
    (tmp_path / "harbour.password").write_text("\n")
    with pytest.raises(SetupError, match="password is empty"):
        load(config)


def post(url: str, text: str, headers: Mapping[str, str]) -> int:
    request = urllib.request.Request(url, text.encode(), dict(headers), method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def started(
    *command: str, **environment: str
) -> tuple[subprocess.Popen[str], str, list[str]]:
    """Start a program; give where it listens, and what it said up to there."""
    said: list[str] = []
    running = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert running.stdout is not None
    for line in running.stdout:
        said.append(line)
        if "listening on" in line:
            return running, line.split("listening on ")[1].split()[0], said
    raise AssertionError(f"it ended with {running.wait()}")


def test_the_command_unlocks_at_its_start_and_when_asked(
    locked: LockedNode, tmp_path: Path
) -> None:
    secret, password = tmp_path / "secret", tmp_path / "password"
    secret.write_text(SECRET)
    password.write_text(PASSWORD + "\n")
    secret.chmod(0o644)
    running, url, said = started(
        sys.executable, "-c", "from leyden.app.main import main; main()", "unlocker",
        "--api", API, "--connect", locked.address, "--ca-file", str(locked.ca_file),
        "--secret-file", str(secret), "--password-file", str(password),
        "--listen", "127.0.0.1:0",
    )  # fmt: skip
    try:
        asyncio.run(until(lambda: locked.state == "RPC_ACTIVE"))
        locked.state = "LOCKED"
        event = signed(sent=datetime.now(UTC))
        assert post(url, WAITING, event) == 200
        assert locked.state == "RPC_ACTIVE"
        assert post(url, WAITING, plain(OTHER_SECRET)) == 401
    finally:
        running.send_signal(signal.SIGTERM)
        said.append(running.communicate(timeout=20)[0])
    assert running.returncode == 0
    assert "unlocked" in "".join(said)
    assert "chmod 600" in "".join(said)
    for hidden in (SECRET, PASSWORD):
        assert hidden not in "".join(said)


def test_the_script_among_the_examples_does_the_same(
    authority: Serving, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "password").write_text(PASSWORD + "\n")
    with LockedNode(authority, api="localhost") as node:
        running, url, said = started(
            sys.executable,
            "examples/unlocker.py",
            NODE_API="localhost",
            LEYDEN_GATEWAY=node.address,
            CA_FILE=str(node.ca_file),
            SECRET_FILE=str(tmp_path / "secret"),
            PASSWORD_FILE=str(tmp_path / "password"),
            PORT="0",
        )
        try:
            event = event_text(api="localhost")
            assert post(url, event, plain(OTHER_SECRET)) == 403
            assert post(url, WAITING, plain()) == 403
            assert post(url, event_text(api="localhost", type="error"), plain()) == 200
            assert node.unlocks == []
            assert post(url, event, plain()) == 200
            assert node.state == "RPC_ACTIVE"
            assert node.unlocks[0]["stateless_init"] is True
            node.state = "LOCKED"
            node.away_for = 1
            assert post(url, event, plain()) == 503
        finally:
            running.terminate()
            said.append(running.communicate(timeout=20)[0])
    assert "unlocked" in "".join(said)
    assert SECRET not in "".join(said)
    assert PASSWORD not in "".join(said)
