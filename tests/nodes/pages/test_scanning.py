"""Scan, on the page that sends: with a camera, and from pictures."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
import segno
from playwright.async_api import FilePayload, Page

from leyden.app.serving.site import Site
from tests.base.pages.visitor import Visitor
from tests.nodes.fleet_harness import FleetHarness
from tests.nodes.pages.node_pages import NodePages, node_pages
from tests.nodes.pages.test_send import know
from tests.programs import needs
from tests.waiting import until

pytestmark = needs("chromium")

FAKE: Final = "--use-fake-device-for-media-stream"
SIDE: Final = 480  # of the camera's square picture, in pixels
# As long as lnd's own are, with two private channels in it.
REQUEST: Final = f"lnbc210u1pj{'qpzry9x8gf2tvdw0s3jn54khce6mua7l' * 14}"
ADDRESS: Final = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
NATIVE: Final = """
globalThis.BarcodeDetector = class {
    static async getSupportedFormats() { return ["qr_code"]; }
    async detect() { return [{ rawValue: "%s" }]; }
};
"""


def pixels(texts: Sequence[str]) -> list[bytes]:
    """Return rows of a square picture in shades of grey, with these codes in it."""
    room = SIDE // max(1, len(texts))
    rows = [bytearray(b"\xeb" * SIDE) for _ in range(SIDE)]
    for number, text in enumerate(texts):
        code = [bytes(row) for row in segno.make(text, error="l").matrix_iter(border=4)]
        scale = room // len(code)
        for y in range(len(code) * scale):
            for x in range(len(code) * scale):
                if code[y // scale][x // scale]:
                    rows[y][number * room + x] = 0x10
    return [bytes(row) for row in rows]


def video(folder: Path, *texts: str) -> list[str]:
    """Return options of Chromium for a camera that sees these codes."""
    path = folder / "seen.y4m"
    colours = b"\x80" * (SIDE * SIDE // 2)
    head = f"YUV4MPEG2 W{SIDE} H{SIDE} F10:1 Ip A1:1 C420jpeg\n".encode()
    path.write_bytes(head + b"FRAME\n" + b"".join(pixels(texts)) + colours)
    return [FAKE, f"--use-file-for-fake-video-capture={path}"]


def picture(text: str) -> bytes:
    file = io.BytesIO()
    segno.make(text, error="l").save(file, kind="png", scale=4, border=4)
    return file.getvalue()


async def choose(page: Page, content: bytes, kind: str = "image/png") -> None:
    file: FilePayload = {"name": "seen", "mimeType": kind, "buffer": content}
    await page.set_input_files("#scan-file", file)


async def scan(pages: NodePages) -> None:
    know(pages, REQUEST)
    await pages.open("/wallet/send")
    await pages.press("Scan a QR code")
    await pages.page.wait_for_selector("#scan[open]")


async def is_reviewed(pages: NodePages) -> None:
    """Wait until the page asks what it asks of an invoice that was pasted."""
    await pages.page.wait_for_selector("#review:visible")
    assert not await pages.page.is_visible("#scan")
    assert pages.lnd.asked("POST /v2/router/send") == []


async def camera_is_on(page: Page) -> bool:
    on: bool = await page.evaluate(
        "document.getElementById('scan-video').srcObject?.active ?? false"
    )
    return on


async def stream(page: Page) -> None:
    await page.wait_for_selector("#scan-video:visible")
    await page.evaluate("window.seen = document.getElementById('scan-video').srcObject")


async def is_stopped(page: Page) -> None:
    """Wait until the camera that was on is off, whoever holds its stream."""

    async def is_so() -> bool:
        return not await page.evaluate("window.seen.active")

    await until(is_so, within_s=10)
    assert not await camera_is_on(page)


async def test_an_invoice_before_the_camera_is_reviewed_and_not_paid(
    site: Site, alice: Visitor, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    camera = video(tmp_path, f"lightning:{REQUEST}".upper())
    async with node_pages(site, alice, fleet_harness, arguments=camera) as pages:
        await pages.page.context.grant_permissions(["camera"])
        await scan(pages)
        await is_reviewed(pages)
        assert not await camera_is_on(pages.page)
        assert await pages.screen.faults() == []  # nor does the decoder weigh too much
        # Of lnd it asks, and lnd knows no such payment; nothing else is noted.
        known = ("asked a stranger: https://harbour-light-", "Failed to load resource")
        complaints = pages.screen.complaints
        assert [each for each in complaints if not each.startswith(known)] == []


async def test_the_camera_is_off_once_nobody_scans(
    site: Site, alice: Visitor, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    camera = video(tmp_path)
    async with node_pages(site, alice, fleet_harness, arguments=camera) as pages:
        page = pages.page
        await page.context.grant_permissions(["camera"])
        await scan(pages)
        await pages.see("Point the camera at a QR code.")
        await stream(page)
        assert await camera_is_on(page)
        await page.keyboard.press("Escape")
        await is_stopped(page)

        await pages.press("Scan a QR code")
        await stream(page)
        await page.evaluate(HIDE, {"hidden": True})
        await is_stopped(page)
        await page.evaluate(HIDE, {"hidden": False})
        await stream(page)

        other = await page.context.new_page()
        await other.goto(f"{pages.screen.base}{pages.node}/wallet/receive")
        await other.click("#lock")
        await is_stopped(page)
        assert not await page.is_visible("#scan")


HIDE: Final = """({ hidden }) => {
    Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


async def test_two_codes_are_not_chosen_from(
    site: Site, alice: Visitor, fleet_harness: FleetHarness, tmp_path: Path
) -> None:
    camera = video(tmp_path, ADDRESS, ADDRESS.replace("8d6", "8d7"))
    async with node_pages(site, alice, fleet_harness, arguments=camera) as pages:
        await pages.page.context.grant_permissions(["camera"])
        await scan(pages)
        await pages.see("There are several QR codes. Show one alone.")
        assert await pages.page.input_value("#to") == ""


async def test_a_camera_that_may_not_be_used_leaves_pictures(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    deny = [FAKE, "--deny-permission-prompts"]
    async with node_pages(site, alice, fleet_harness, arguments=deny) as pages:
        page = pages.page
        await scan(pages)
        await pages.see("The browser does not let this page use the camera.")
        await choose(page, b"not a picture")
        await pages.see("This file is not a picture")
        await choose(page, blank())
        await pages.see("No QR code was found in this picture.")
        await choose(page, picture("https://example.org/?a=menu"))
        await pages.see("This QR code has no invoice and no address.")
        await choose(page, picture(f"lightning:{REQUEST}"))
        await is_reviewed(pages)
        assert pages.lnd.asked(f"GET /v1/payreq/{REQUEST}") == [{}]


async def test_a_picture_is_pasted_where_there_is_no_camera(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        await scan(pages)
        await pages.see("There is no camera here. Choose a picture.")
        await pages.page.evaluate(PASTE, list(picture(REQUEST)))
        await is_reviewed(pages)


PASTE: Final = """(bytes) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(
        new File([Uint8Array.from(bytes)], "seen.png", {type: "image/png"}));
    document.body.dispatchEvent(
        new ClipboardEvent("paste", {clipboardData, bubbles: true}));
}"""


async def test_a_browsers_own_decoder_is_preferred(
    site: Site, alice: Visitor, fleet_harness: FleetHarness
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        await pages.page.context.add_init_script(NATIVE % REQUEST)
        loaded: list[str] = []
        pages.page.on("request", lambda asked: loaded.append(asked.url))
        await scan(pages)
        await choose(pages.page, blank())
        await is_reviewed(pages)
        assert not [each for each in loaded if "/vendor/qr/" in each]


def blank() -> bytes:
    """Return a picture in which there is nothing."""
    file = io.BytesIO()
    segno.make("1").save(file, kind="png", dark="white", light="white")
    return file.getvalue()


@pytest.mark.parametrize("name", ["send", "receive", "channels"])
async def test_one_page_alone_may_use_the_camera(
    site: Site, alice: Visitor, fleet_harness: FleetHarness, name: str
) -> None:
    async with node_pages(site, alice, fleet_harness) as pages:
        shown = await alice.get(f"{pages.node}/wallet/{name}")
        camera = "camera=(self)" if name == "send" else "camera=()"
        assert shown.header("permissions-policy").startswith(camera)
