"""Why a node could not be called: by elimination, for browsers do not tell."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.nodes.pages.wallet.conftest import Modular
from tests.ports import free_port

pytestmark = pytest.mark.asyncio(loop_scope="session")

WELL = {"status": "running", "rest": True, "listed": True, "authority": True}
DIAGNOSE = """async (modules, url, facts, ahead) => {
    const { diagnose } = await modules("diagnosis");
    const platform = { facts: async () => facts, clockAheadMs: ahead };
    return (await diagnose({ url }, platform)).reasons;
}"""


class Mute(BaseHTTPRequestHandler):
    """An lnd that lets no page of another origin read what it says."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def mute() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Mute) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("facts", "ahead_ms", "reasons"),
    [
        ({"status": "stopped"}, 0, ["down"]),
        ({"status": "restarting"}, 0, ["coming"]),
        ({"rest": False}, 0, ["closed"]),
        ({"listed": False}, 0, ["unlisted"]),
        ({"listed": False}, -3_600_000, ["unlisted", "clock"]),
        ({}, 3_600_000, ["clock"]),
        ({}, 60_000, ["certificate", "away"]),
        ({"authority": False}, 0, ["away"]),
    ],
    ids=str,
)
async def test_the_reason_is_found_by_asking_and_by_elimination(
    js: Modular, facts: dict[str, Any], ahead_ms: int, reasons: list[str]
) -> None:
    nowhere = "http://127.0.0.1:9"
    found = await js.run(DIAGNOSE, nowhere, {**WELL, **facts}, ahead_ms)
    assert found == reasons


async def test_a_node_that_answers_but_not_to_pages_is_told_apart(
    js: Modular, mute: str
) -> None:
    assert await js.run(DIAGNOSE, mute, WELL, 0) == ["origin"]


async def test_the_page_notices_that_the_browser_has_come_to_trust_the_node(
    js: Modular,
) -> None:
    """To a page, a door that opens is what a certificate is that becomes trusted."""
    port = free_port()
    begin = """async (modules, url) => {
        const { untilTrusted } = await modules("trust");
        window.section = document.createElement("div");
        section.innerHTML = "<span data-origin></span>";
        window.trusted = 0;
        const count = () => (window.trusted += 1);
        window.looking = untilTrusted({ url }, section, count);
        untilTrusted({ url }, section, count); // looks but once
        return section.textContent === location.origin;
    }"""
    assert await js.run(begin, f"http://127.0.0.1:{port}")
    assert await js.run("async () => trusted") == 0
    with ThreadingHTTPServer(("127.0.0.1", port), Mute) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        found = "async () => { await looking; return [trusted, section.hidden]; }"
        assert await js.run(found) == [1, True]
        server.shutdown()
        thread.join()


async def test_what_a_node_refuses_is_said_in_words_and_without_secrets(
    js: Modular, mute: str
) -> None:
    said = await js.run(
        """async (modules, url) => {
            const { Lnd } = await modules("lnd");
            try {
                await new Lnd(url).unlock("a lamp in the harbour");
            } catch (error) {
                return [error.kind, error.message, JSON.stringify(error)];
            }
        }""",
        mute,
    )
    assert said[0] == "unreachable"
    assert "lamp" not in str(said)


async def test_what_nobody_foresaw_is_no_word_about_money(js: Modular) -> None:
    said = await js.call("trouble", "inWords", {})
    assert "look at what was done before you try again" in said
    assert "Nothing" not in said
