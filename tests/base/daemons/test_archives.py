"""Release archives: taken by their pins, from a mirror on this machine."""

import asyncio
import hashlib
import http.server
import io
import os
import platform
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leyden.base.daemons import archives, catalogue
from leyden.base.daemons.build import build, program_path
from leyden.base.daemons.catalogue import Program, ToolSet
from leyden.base.daemons.progress import BuildState, BuildStep
from leyden.errors import SetupError
from tests.base.daemons.conftest import StandIn
from tests.ports import free_port

MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")
LND, LNCLI, BTCD = map(catalogue.find, ("lnd", "lncli", "btcd"))
NAME = f"lnd-linux-{MACHINE}-v{LND[1].version}"
PATH = f"/lightningnetwork/lnd/releases/download/v{LND[1].version}/{NAME}.tar.gz"

pytestmark = pytest.mark.skipif(not MACHINE, reason="no archives for this machine")

Handler = http.server.BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


@dataclass
class Mirror:
    """A server with what it answers by path, and what it was asked for."""

    folder: Path
    go: StandIn
    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    pins: dict[str, str] = field(default_factory=dict)
    steps: list[BuildStep] = field(default_factory=list)

    def pin(self, content: bytes, name: str = NAME) -> None:
        self.pins[name] = hashlib.sha256(content).hexdigest()

    @property
    def environment(self) -> dict[str, str]:
        sums = self.folder / "manifest.txt"
        lines = ["# of a release", ""]
        lines += [f"{pin}  {name}.tar.gz" for name, pin in self.pins.items()]
        sums.write_text("\n".join(lines))
        return {
            **self.go.environment,
            "LEYDEN_ARCHIVES_URL": self.url,
            "LEYDEN_ARCHIVES_SUMS": str(sums),
        }

    async def build(
        self, *wanted: tuple[ToolSet, Program], from_source: bool = False
    ) -> None:
        await build(
            wanted or (LND, LNCLI),
            cache=self.folder / "cache",
            environment=self.environment,
            progress=self.steps.append,
            from_source=from_source,
        )

    def path(self, tools: ToolSet, program: Program) -> Path:
        return program_path(self.folder / "cache", tools, program)

    @property
    def states(self) -> list[BuildState]:
        return [each.state for each in self.steps]


@pytest.fixture
def mirror(tmp_path: Path, go: StandIn) -> Iterator[Mirror]:
    found = Mirror(tmp_path, go)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            found.answers.get(self.path, status(404))(self)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found.url = f"http://127.0.0.1:{server.server_port}"
        yield found
        server.shutdown()


def status(number: int, **headers: str) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(number)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", "0")
        handler.end_headers()

    return answer


def content(
    body: bytes, *, kind: str = "application/gzip", sent: int | None = None
) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:sent])

    return answer


def archive(*more: tarfile.TarInfo, names: tuple[str, ...] = ("lnd", "lncli")) -> bytes:
    """Return an archive as lnd's, with more members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        for name in names:
            member = tarfile.TarInfo(f"{NAME}/{name}")
            text = f"#!/bin/sh\necho {name} of a release\n".encode()
            member.size, member.mode = len(text), 0o644
            made.addfile(member, io.BytesIO(text))
        for member in more:
            made.addfile(member)
    return packed.getvalue()


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


async def test_programs_come_from_a_pinned_archive_once(mirror: Mirror) -> None:
    made = archive(tarfile.TarInfo(f"{NAME}/README"))
    mirror.pin(made)
    mirror.answers[PATH] = status(302, location="/store/there")
    mirror.answers["/store/there"] = content(made)
    await mirror.build()
    assert mirror.path(*LND).read_text() == "#!/bin/sh\necho lnd of a release\n"
    assert os.access(mirror.path(*LNCLI), os.X_OK)
    assert mirror.states == [BuildState.DOWNLOADING] * 2 + [BuildState.DOWNLOADED] * 2
    assert all(each.size and each.seconds for each in mirror.steps[2:])
    assert mirror.asked == [PATH, "/store/there"]
    assert mirror.go.builds == []
    mirror.steps.clear()
    await mirror.build()
    assert mirror.states == [BuildState.READY, BuildState.READY]
    assert len(mirror.asked) == 2


async def test_two_at_once_download_once(mirror: Mirror) -> None:
    made = archive()
    mirror.pin(made)
    mirror.answers[PATH] = content(made)
    await asyncio.gather(mirror.build(), mirror.build())
    assert mirror.asked == [PATH]


async def test_what_has_no_pin_is_not_asked_for(mirror: Mirror) -> None:
    mirror.pin(archive(), NAME.replace("v0", "v9"))
    await mirror.build()
    assert mirror.asked == []
    assert len(mirror.go.builds) == 2


async def test_only_what_has_no_archive_is_built(mirror: Mirror) -> None:
    made = archive()
    mirror.pin(made)
    mirror.answers[PATH] = content(made)
    await mirror.build(LND, BTCD)
    assert "of a release" in mirror.path(*LND).read_text()
    [built] = mirror.go.builds
    assert built.endswith(BTCD[1].package)


@pytest.mark.parametrize("number", [403, 404, 503])
async def test_an_absent_archive_is_told_and_the_sources_are_taken(
    mirror: Mirror, number: int
) -> None:
    mirror.pin(archive())
    mirror.answers[PATH] = status(number)
    await mirror.build()
    absent = [each for each in mirror.steps if each.state is BuildState.ABSENT]
    assert [each.why for each in absent] == [f"{mirror.url}{PATH}: HTTP {number}"] * 2
    assert len(mirror.go.builds) == 2
    assert "version 1.2.3" in mirror.path(*LND).read_text()


async def test_a_mirror_that_is_away_is_told_and_the_sources_are_taken(
    mirror: Mirror,
) -> None:
    mirror.pin(archive())
    mirror.url = f"http://127.0.0.1:{free_port()}"
    await mirror.build(LND)
    [absent] = [each for each in mirror.steps if each.state is BuildState.ABSENT]
    assert mirror.url in absent.why
    assert len(mirror.go.builds) == 1


GOOD = archive()
CASES = {
    "another": (b"another", content(GOOD), r"its SHA-256 is .* as pinned\. Something"),
    "a page": (GOOD, content(b"<html>", kind="text/html; charset=utf-8"), "a web page"),
    "cut": (
        GOOD,
        content(GOOD, sent=40),
        r"it was cut after 40 bytes\. Run this again",
    ),
    "circles": (GOOD, status(302, location=PATH), "it redirects in circles"),
    **{
        name: (made, content(made), why)
        for name, (made, why) in {
            "climbs": (
                archive(tarfile.TarInfo(f"{NAME}/../../../lnd")),
                "it has files that lead out of its folder",
            ),
            "is absolute": (
                archive(tarfile.TarInfo("/etc/cron.d/lnd")),
                "it has files that lead out of its folder",
            ),
            "links": (
                archive(link(f"{NAME}/lnd", "/bin/sh"), names=("lncli",)),
                "it has no program lnd",
            ),
            "lacks": (archive(names=("lnd",)), "it has no program lncli"),
            "is no archive": (b"not gzip at all", "it is no archive"),
            "is half": (GOOD[: len(GOOD) // 2], "it is no archive"),
        }.items()
    },
}


@pytest.mark.parametrize(("pinned", "answer", "why"), [*CASES.values()], ids=[*CASES])
async def test_what_comes_in_its_place_is_refused_and_nothing_is_left(
    mirror: Mirror, pinned: bytes, answer: Answer, why: str
) -> None:
    mirror.pin(pinned)
    mirror.answers[PATH] = answer
    with pytest.raises(SetupError, match=why) as refused:
        await mirror.build()
    assert refused.value.message.startswith(f"{mirror.url}{PATH}: ")
    assert refused.value.message.endswith("set LEYDEN_ARCHIVES_URL to an empty text")
    assert "\n" not in refused.value.message
    assert not mirror.path(*LND).exists()
    assert not mirror.path(*LNCLI).exists()
    assert mirror.go.builds == [], "the sources are not taken without being asked"
    folder = mirror.folder / "cache/daemons" / LND[0].key
    left = [each for each in folder.rglob("*") if each.is_file()]
    assert not any(each.stat().st_size for each in left)
    mirror.url = ""
    await mirror.build()
    assert len(mirror.go.builds) == 2


async def test_what_is_built_from_source_is_not_what_was_downloaded(
    mirror: Mirror,
) -> None:
    mirror.pin(GOOD)
    mirror.answers[PATH] = content(GOOD)
    await mirror.build(LND)
    await mirror.build(LND, from_source=True)
    assert len(mirror.go.builds) == 1
    assert "version 1.2.3" in mirror.path(*LND).read_text()
    await mirror.build(LND, from_source=True)
    assert len(mirror.go.builds) == 1


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("LEYDEN_ARCHIVES_URL", "ftp://mirror", "is not an http:// or https:// URL"),
        ("LEYDEN_ARCHIVES_SUMS", "/nowhere/sums", "cannot read /nowhere/sums"),
    ],
)
def test_a_wrong_address_or_file_is_told(name: str, value: str, why: str) -> None:
    with pytest.raises(SetupError, match=f"{name}: .*{why}"):
        archives.find(LND[1], {name: value})


def test_a_line_that_is_no_pin_is_told(tmp_path: Path) -> None:
    sums = tmp_path / "sums"
    sums.write_text(f"# a manifest\nabc  {NAME}.tar.gz\n")
    with pytest.raises(SetupError, match="sums, line 2: must be a SHA-256"):
        archives.find(LND[1], {"LEYDEN_ARCHIVES_SUMS": str(sums)})


def test_archives_are_named_as_their_projects_name_them(tmp_path: Path) -> None:
    sums = tmp_path / "sums"
    files = [
        f"lnd-linux-{MACHINE}-v0.21.2-beta",
        f"btcd-linux-{MACHINE}-v0.24.2",
        f"pool-linux-{MACHINE}-v0.7.1-beta",
    ]
    sums.write_text("".join(f"{'0' * 64} *{each}.tar.gz\n" for each in files))
    wanted = [("lncli", "0.21.2"), ("btcctl", None), ("poold", None)]
    urls = []
    for each in wanted:
        program = catalogue.find(*each)[1]
        found = archives.find(program, {"LEYDEN_ARCHIVES_SUMS": str(sums)})
        assert found is not None
        urls.append(found.url)
    at = "https://github.com"
    assert urls == [
        f"{at}/lightningnetwork/lnd/releases/download/v0.21.2-beta/{files[0]}.tar.gz",
        f"{at}/btcsuite/btcd/releases/download/v0.24.2/{files[1]}.tar.gz",
        f"{at}/lightninglabs/pool/releases/download/v0.7.1-beta/{files[2]}.tar.gz",
    ]
