"""An owner's story, typed: real lnd, real Envoy, and every byte to the platform read.

From the first word to a node with a wallet, macaroons, backups and a new password, and
to the same wallet on another node; and no secret is ever said to the platform.
"""

import asyncio
import base64
import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from leyden.client import Client, Lnd, wallets
from leyden.errors import NodeRefused
from tests.stories.overheard import Overheard, forms, overhearing
from tests.stories.platform import LEYDEN, RunningPlatform

pytestmark = [
    pytest.mark.real,
    pytest.mark.full,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="session"),
]


class Owner:
    """Somebody with a shell, an API key, and secrets of their own."""

    def __init__(
        self, platform: RunningPlatform, heard: Overheard, folder: Path
    ) -> None:
        self.folder = folder
        self.facts = platform.facts
        self.heard = heard
        self.environment = {
            **{n: v for n, v in platform.environment.items() if n in {"PATH", "HOME"}},
            "LEYDEN_URL": heard.url,
            "LEYDEN_KEY": platform.facts["api_key"],
            "LEYDEN_CA": platform.facts["ca_path"],
            "LEYDEN_GATEWAY": "{host}:{rest_port}".format(**platform.facts["gateway"]),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
        }

    def secret(self, name: str) -> str:
        """Make a password, and a file that holds it."""
        made = f"{name} {secrets.token_hex(9)}"
        (self.folder / name).write_text(f"{made}\n")
        return made

    async def types(self, *words: str, exits: int = 0) -> str:
        """Type a command; give what it printed for machines or people."""
        command = await asyncio.create_subprocess_exec(
            LEYDEN,
            *words,
            cwd=self.folder,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        answer, said = await command.communicate()
        assert command.returncode == exits, (words, answer, said)
        if exits:
            assert said.decode().splitlines()[-1].startswith("leyden: ")
        return answer.decode()

    async def asks(self, *words: str) -> Any:
        """Type a command for machines."""
        return json.loads(await self.types(*words, "--json"))

    def lnd(self, node_id: str, macaroon: str) -> Any:
        """Call the node with a macaroon, as a program would; blocks."""
        with self._node(node_id, macaroon) as lnd:
            return lnd.get("/v1/getinfo")

    def makes_a_wallet(self, node_id: str, password: str) -> None:
        """Create a wallet, and store nothing of it; blocks."""
        with self._node(node_id) as lnd:
            wallets.init(lnd, password, wallets.new_seed(lnd))

    @contextmanager
    def _node(self, node_id: str, macaroon: str = "") -> Iterator[Lnd]:
        client = Client(
            self.facts["base_url"],
            self.facts["api_key"],
            gateway=self.environment["LEYDEN_GATEWAY"],
        )
        authority = Path(self.facts["ca_path"]).read_text()
        with client, client.lnd(node_id, macaroon=macaroon, trusts=authority) as lnd:
            yield lnd


@pytest_asyncio.fixture(loop_scope="session")
async def owner(platform: RunningPlatform, tmp_path: Path) -> AsyncIterator[Owner]:
    async with overhearing(platform.facts["base_url"]) as heard:
        yield Owner(platform, heard, tmp_path)


async def writes_down(owner: Owner, node: str, password: str) -> list[str]:
    """Make a wallet as a person does: wrong about the words once, then right."""
    command = await asyncio.create_subprocess_exec(
        *(LEYDEN, "wallet", "init", node, "--password-file", password),
        cwd=owner.folder,
        env=owner.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert command.stdin is not None
    assert command.stderr is not None
    said = ""

    async def answer(words: dict[int, str] | None) -> None:
        nonlocal said
        for _ in range(3):
            while not (request := re.search(r"Word (\d+):\s*$", said)):
                part = await command.stderr.read(4096)  # type: ignore[union-attr]
                assert part, said
                said += part.decode()
            word = words[int(request[1])] if words else "seagull"
            command.stdin.write(f"{word}\n".encode())  # type: ignore[union-attr]
            said += "answered\n"

    await answer(None)
    while said.count("Anyone who has them can take your money") < 2:
        said += (await command.stderr.read(4096)).decode()
    while not re.search(r"Word \d+:\s*$", said):
        said += (await command.stderr.read(4096)).decode()
    shown = said.rpartition("Anyone who has them")[2]
    words = {int(at): word for at, word in re.findall(r"(\d+) ([a-z]{3,8})\b", shown)}
    assert sorted(words) == list(range(1, 25))
    await answer(words)
    _, rest = await command.communicate()
    assert command.returncode == 0, said + rest.decode()
    return [words[at] for at in sorted(words)]


OF_FIRST = ("--password-file", "first")
OF_SECOND = ("--password-file", "second")


async def test_an_owner_keeps_the_keys(owner: Owner) -> None:
    passwords = [owner.secret("first"), owner.secret("second")]
    await owner.types("nodes", "create", "kept light", "--wait")
    seed = await writes_down(owner, "kept light", "first")
    shown = await owner.asks("nodes", "show", "kept light")
    node_id = shown["node_id"]
    assert shown["status"] == "running"
    await owner.types("wallet", "init", "kept light", exits=5)
    assert not list((owner.folder / "state").rglob("*.jwe"))

    # The vault holds what was made, and opens with the wallet's password alone.
    opened = await owner.asks("wallet", "seed", "kept light", *OF_FIRST)
    assert opened["seed"] == seed
    await owner.types("wallet", "seed", "kept light", *OF_SECOND, exits=8)
    stored = await owner.asks(
        "wallet", "show-macaroon", "kept light", "admin", *OF_FIRST
    )
    admin = stored["macaroon"]
    known = await asyncio.to_thread(owner.lnd, node_id, admin)

    reader = await bakes(owner, node_id)
    await stops_and_unlocks(owner)
    await drills(owner, known["identity_pubkey"])
    await changes_the_password(owner, seed)
    assert await asyncio.to_thread(owner.lnd, node_id, reader), "it is as good as ever"
    await revokes(owner, node_id, reader)
    again = await moves(owner, known["identity_pubkey"], seed)

    nothing_was_said(owner.heard, seed, passwords, [admin, reader, again])
    for name in ("kept light", "second home"):
        await owner.types("nodes", "delete", name, "--yes")


async def bakes(owner: Owner, node_id: str) -> str:
    """Bake a macaroon for one thing and a day, one to read, one for elsewhere."""
    channels = await owner.asks(
        *("wallet", "bake", "kept light", "shop", "--preset", "invoices"),
        *("--days", "1", *OF_FIRST),
    )
    assert (channels["may"], channels["root_key"]) == (["invoices"], "1")
    assert channels["only"][0].startswith("time-before ")
    with pytest.raises(NodeRefused, match="permission denied"):
        await asyncio.to_thread(owner.lnd, node_id, channels["macaroon"])
    baked = ("wallet", "bake", "kept light", "reader", "--preset", "read-only")
    await owner.types(*baked, *OF_FIRST, "--out", "reader.macaroon")
    reader = (owner.folder / "reader.macaroon").read_bytes().hex()
    assert await asyncio.to_thread(owner.lnd, node_id, reader)
    await owner.types(*baked, *OF_FIRST, exits=5)
    far = await owner.asks(
        *("wallet", "bake", "kept light", "far", "--preset", "read-only"),
        *("--ip", "203.0.113.9", *OF_FIRST),
    )
    with pytest.raises(NodeRefused):
        await asyncio.to_thread(owner.lnd, node_id, far["macaroon"])
    return reader


async def stops_and_unlocks(owner: Owner) -> None:
    await owner.types("nodes", "stop", "kept light", "--wait")
    await owner.types("wallet", "unlock", "kept light", *OF_FIRST, exits=6)
    await owner.types("nodes", "start", "kept light", "--wait")
    await owner.types("wallet", "unlock", "kept light", *OF_SECOND, exits=8)
    await owner.types("wallet", "unlock", "kept light", *OF_FIRST)
    backup = await owner.asks("wallet", "backup", "kept light", *OF_FIRST)
    assert backup["verified"] is True
    assert (owner.folder / "channel.backup").stat().st_mode & 0o777 == 0o600


async def drills(owner: Owner, identity: str) -> None:
    """Prove that what is in the vault opens, and is of this node."""
    await owner.types("wallet", "drill", "kept light", *OF_SECOND, exits=8)
    found = await owner.asks("wallet", "drill", "kept light", *OF_FIRST)
    assert found["public_key"] == identity
    assert found["macaroons"].pop("far") == (
        "the macaroon is not valid from the address that lnd sees"
    )
    assert set(found["macaroons"].values()) == {"works"}
    assert len(found["signature"]) == 104


async def changes_the_password(owner: Owner, seed: list[str]) -> None:
    """Change it for the wallet, and for everything in the vault."""
    changing = ("wallet", "password", "kept light", "--new-password-file", "second")
    await owner.types(*changing, "--yes", *OF_SECOND, exits=8)
    changed = await owner.asks(*changing, "--yes", *OF_FIRST)
    assert (changed["resealed"], changed["under_another_password"]) == (5, [])
    await owner.types("wallet", "seed", "kept light", *OF_FIRST, exits=8)
    opened = await owner.asks("wallet", "seed", "kept light", *OF_SECOND)
    assert opened["seed"] == seed


@pytest.mark.long
async def test_an_admin_macaroon_that_got_lost_is_stored_with_the_next_password(
    owner: Owner,
) -> None:
    """As where a browser was closed after lnd had made the wallet."""
    password = owner.secret("first")
    made = await owner.asks("nodes", "create", "adrift light", "--wait")
    await asyncio.to_thread(owner.makes_a_wallet, made["node_id"], password)
    missing = ("wallet", "macaroons", "adrift light", *OF_FIRST)
    await owner.types(*missing, exits=4)
    again = ("wallet", "password", "adrift light", "--new-password-file", "first")
    found = await owner.asks(*again, "--yes", *OF_FIRST)
    assert found["kept"] == ["macaroon admin"]
    (admin,) = (await owner.asks(*missing))["macaroons"]
    assert (admin["name"], admin["good"]) == ("admin", True)
    await owner.types("nodes", "delete", "adrift light", "--yes")


async def revokes(owner: Owner, node_id: str, reader: str) -> None:
    """End one macaroon, and no other."""
    await owner.types("wallet", "revoke", "kept light", "reader", "--yes", *OF_SECOND)
    with pytest.raises(NodeRefused):
        await asyncio.to_thread(owner.lnd, node_id, reader)
    listed = await owner.asks("wallet", "macaroons", "kept light", *OF_SECOND)
    test = ("wallet", "test-macaroon", "kept light")
    assert (await owner.asks(*test, "shop", *OF_SECOND))["works"]
    for name in ("reader", "far"):
        await owner.types(*test, name, *OF_SECOND, exits=5)
    good = {row["name"]: row["good"] for row in listed["macaroons"]}
    assert good == {"admin": True, "shop": True, "reader": False, "far": True}


async def moves(owner: Owner, identity: str, seed: list[str]) -> str:
    """Make the same wallet on another node, while the first one rests."""
    await owner.types("nodes", "create", "second home", "--wait")
    moving = ("wallet", "restore", "second home", "--from", "kept light", *OF_SECOND)
    await owner.types(*moving, exits=5)
    await owner.types("nodes", "stop", "kept light", "--wait")
    # One address a kind, or lnd looks through the chain for minutes.
    await owner.types(*moving, "--window", "1", "--wait")
    node_id = (await owner.asks("nodes", "show", "second home"))["node_id"]
    stored = await owner.asks(
        "wallet", "show-macaroon", "second home", "admin", *OF_SECOND
    )
    moved = await asyncio.to_thread(owner.lnd, node_id, stored["macaroon"])
    assert moved["identity_pubkey"] == identity
    opened = await owner.asks("wallet", "seed", "second home", *OF_SECOND)
    assert opened["seed"] == seed
    again: str = stored["macaroon"]
    return again


def nothing_was_said(
    heard: Overheard, seed: list[str], passwords: list[str], macaroons: list[str]
) -> None:
    """See that no secret went to the platform, in any form."""
    assert b"/reseal" in heard.said
    assert heard.said.count(b"X-SERVICE-AUTH") > 50
    for apart in (" ", ",", "\n", '", "', '","', ""):
        for at in range(len(seed) - 2):
            few = apart.join(seed[at : at + 3])
            assert heard.holds(few.encode()) is None, "words of the seed"
    for password in passwords:
        assert heard.holds(password.encode()) is None, "a password"
        assert heard.holds(password.split()[1].encode()) is None, "a password"
    for macaroon in macaroons:
        assert heard.holds(bytes.fromhex(macaroon)) is None, "a macaroon"
        assert heard.holds(bytes.fromhex(macaroon)[-32:]) is None, "its signature"


@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc"])
async def test_a_secret_would_be_heard_in_every_form(before: bytes) -> None:
    secret = b"a lamp in every window"
    text = before + secret + b" and so on"
    for form, _ in forms(secret):
        heard = Overheard()
        match form.split(", "):
            case ["as it is"]:
                heard.said += text
            case ["hex" | "HEX"]:
                heard.said += text.hex().encode()
                heard.said += text.hex().upper().encode()
            case ["base64", *_]:
                heard.said += base64.b64encode(text)
            case _:
                continue
        assert heard.holds(secret), form
