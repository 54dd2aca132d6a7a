"""A person's browser: Chromium with a profile of its own, and a log of all it sends.

It trusts the platform's authority only if the person imported it, as the dashboard
explains; certificate errors are never ignored.
"""

import base64
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from playwright.async_api import BrowserContext, Page, async_playwright
from playwright.async_api import TimeoutError as NeverSeen

from tests.programs import require


@dataclass
class Window:
    """One page of a browser, and what it complained about."""

    context: BrowserContext
    page: Page
    folder: Path
    complaints: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    clicks: int = 0

    async def see(self, words: str, *, seconds: float = 100) -> None:
        """Wait until these words can be seen."""
        by_text = self.page.get_by_text(words).locator("visible=true").first
        try:
            await by_text.wait_for(timeout=seconds * 1000)
        except NeverSeen:
            shown = await self.page.locator("main").inner_text()
            raise AssertionError(f"not seen: {words}\n{shown}") from None

    async def type(self, **fields: str) -> None:
        """Fill fields in, by their ids; an underscore is a dash."""
        for name, value in fields.items():
            await self.page.fill(f"#{name.replace('_', '-')}", value)

    async def press(self, name: str) -> None:
        """Press the button of this name."""
        await self.page.get_by_role("button", name=name, exact=True).click()


@asynccontextmanager
async def opened(folder: Path, *, trusting: Path | None) -> AsyncIterator[Window]:
    """Open a browser that trusts this authority, or none but the usual."""
    folder.mkdir()
    if trusting is not None:
        trust(folder, trusting)
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            folder / "profile",
            executable_path=require("chromium"),
            env={**os.environ, "HOME": str(folder)},
            args=[
                "--no-sandbox",
                f"--log-net-log={folder / 'net.json'}",
                "--net-log-capture-mode=Everything",
            ],
        )
        window = Window(context, context.pages[0], folder)
        context.on("console", lambda said: _note(window, said.type, said.text))
        await _count_clicks(window)
        context.on("request", lambda asked: window.urls.append(asked.url))
        window.page.on("pageerror", lambda error: _note(window, "error", str(error)))
        try:
            yield window
        finally:
            await context.close()


async def _count_clicks(window: Window) -> None:
    def clicked() -> None:
        window.clicks += 1

    await window.context.expose_function("clicked", clicked)
    counting = "addEventListener('click', (e) => { if (e.isTrusted) clicked() }, true)"
    await window.context.add_init_script(counting)


def trust(folder: Path, authority: Path) -> None:
    """Import the authority, as the dashboard tells people to do it in a shell."""
    database = folder / ".pki" / "nssdb"
    database.mkdir(parents=True)
    store = f"sql:{database}"
    for words in (
        ("-N", "--empty-password"),
        ("-A", "-t", "C,,", "-n", "leyden", "-i", str(authority)),
    ):
        subprocess.run(["certutil", "-d", store, *words], check=True)


def forms(secret: str) -> list[bytes]:
    """Return the ways in which a secret may be written in a request."""
    raw = secret.encode()
    found = [raw, quote(secret).encode(), quote_plus(secret).encode()]
    found += [raw.hex().encode(), base64.b64encode(raw), base64.urlsafe_b64encode(raw)]
    with suppress(ValueError):  # a macaroon, which lnd takes in hex and gives in base64
        found.append(base64.b64encode(bytes.fromhex(secret)))
    return [form.rstrip(b"=") for form in found]


def fingerprint(certificate: Path) -> str:
    """Return a certificate's fingerprint as browsers show it."""
    shown = x509.load_pem_x509_certificate(certificate.read_bytes())
    return shown.fingerprint(hashes.SHA256()).hex(":").upper()


def _note(window: Window, kind: str, text: str) -> None:
    if kind in {"error", "warning"}:
        window.complaints.append(text)


def sent_to(folder: Path) -> dict[str, bytes]:
    """Return all bytes that a closed browser sent, in clear, by where they went.

    What went through TLS is told before it was encrypted.
    """
    log = json.loads((folder / "net.json").read_text())
    kinds = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    positions: dict[int, str] = {}
    sent: dict[str, bytes] = {}
    for event in log["events"]:
        kind, source = kinds[event["type"]], event["source"]["id"]
        given: dict[str, Any] = event.get("params", {})
        for address in _addresses(given):
            positions[source] = address
        if kind in {"SOCKET_BYTES_SENT", "SSL_SOCKET_BYTES_SENT"} and "bytes" in given:
            answer = f"{positions.get(source, 'nowhere')} {kind.partition('_')[0]}"
            sent[answer] = sent.get(answer, b"") + base64.b64decode(given["bytes"])
    return sent


def _addresses(given: dict[str, Any]) -> Iterator[str]:
    for name in ("address", "remote_address"):
        if isinstance(address := given.get(name), str):
            yield address
    for each in given.get("address_list", []):
        if isinstance(each, str):
            yield each
