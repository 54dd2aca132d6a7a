"""The platform's own authority: constrained, sealed, rotated, or refused at a start."""

import asyncio
import shutil
import ssl
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from leyden.app.installation import running
from leyden.app.migration import migrate
from leyden.base.database.secrets import Sealer, load_keyring
from leyden.base.opening import opened
from leyden.base.settings import Settings, load
from leyden.errors import SetupError
from leyden.nodes.certificates import previous_authorities, signing
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.certificates.constraints import CertificateScope
from leyden.nodes.wiring import authorities
from leyden.operators import key_rotation
from tests.ports import free_port

OF_THE_TESTS = "operator:test"


def settings(home: Path, **more: Any) -> Settings:
    return Settings(
        **more,
        home=str(home),
        metrics_port=0,
        api_port=free_port(),
        nodes_fence="off",
        testnet_chain="simnet",
        testnet_backend="neutrino",
    )


@pytest.mark.parametrize("broken", ["root.pem", "intermediate.pem"])
async def test_an_authority_that_cannot_be_read_ends_the_start(
    tmp_path: Path, broken: str
) -> None:
    given = settings(tmp_path)
    migrate(given)
    async with running(given, loops=False):
        pass
    (tmp_path / "authority" / broken).write_text("not a certificate")
    async with AsyncExitStack() as stack:
        with pytest.raises(SetupError, match="certificate authority"):
            await stack.enter_async_context(running(given, loops=False))


def sealer_of(given: Settings) -> Sealer:
    return Sealer(load_keyring(given.secrets_path))


def test_a_new_one_may_vouch_for_this_platform_alone_and_its_root_key_is_sealed(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    migrate(given)
    authority = Authority(tmp_path / "authority")
    assert authority.scope == CertificateScope(
        ("nodes.localhost", "localhost"), ("127.0.0.1",)
    )
    assert not authorities.advice(given)
    assert not (tmp_path / "authority" / "root.key").exists()
    for _ in range(2):
        assert root_key(given).public_key() == authority.root.public_key()
        # The second time it is sealed by keys that came later.
        reseal(given)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"acme_api_name": "api.a.example", "acme_directory": "x"}, ["api.a.example"]),
        ({"api_host": "10.1.2.3"}, ["10.1.2.3"]),
        ({"dashboard_origins": "https://a.example"}, ["localhost", "127.0.0.1"]),
        ({"dashboard_origins": "https://a.example", "api_tls": True}, ["a.example"]),
        ({"api_host": "::1"}, ["localhost", "::1"]),
    ],
    ids=str,
)
def test_it_may_vouch_for_the_names_of_the_api(
    tmp_path: Path, more: dict[str, Any], named: list[str]
) -> None:
    migrate(settings(tmp_path, nodes_domain="nodes.a.example", **more))
    made = Authority(tmp_path / "authority").scope
    assert made is not None
    assert {*made.domains, *made.addresses} == {"nodes.a.example", *named}


async def test_another_domain_ends_the_start_and_names_the_rotation(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    migrate(given)
    other = settings(tmp_path, nodes_domain="nodes.example.com")
    assert "leyden ca rotate" in authorities.advice(other)
    with pytest.raises(SetupError, match=r"nodes_domain: .*leyden ca rotate"):
        await started(other)
    before = Authority(tmp_path / "authority")
    async with opened(other) as platform:
        after = await authorities.rotate(platform, actor=OF_THE_TESTS)
    assert after.authority.scope is not None
    assert "nodes.example.com" in after.authority.scope.domains
    assert after.authority.root != before.root
    assert after.authority.anchors_pem == after.authority.root_pem + before.root_pem
    assert previous_authorities.anchors_path(tmp_path / "authority").read_bytes() == (
        after.authority.anchors_pem
    )
    await started(other)


@pytest.mark.parametrize("setting", ["api_tls", "acme_api_name"])
async def test_another_name_of_the_api_ends_the_start_where_it_is_vouched_for(
    tmp_path: Path, setting: str
) -> None:
    given = settings(tmp_path)
    migrate(given)
    moved = {"dashboard_origins": "https://api.example.com"}
    await started(settings(tmp_path, **moved))  # a proxy's certificate, say
    more = (
        {**moved, "api_tls": True}
        if setting == "api_tls"
        else {"acme_api_name": "api.example.com", "acme_directory": "https://a.test"}
    )
    authority = Authority(tmp_path / "authority")
    with pytest.raises(SetupError, match=rf"^{setting}: .*leyden ca rotate"):
        authorities.check(settings(tmp_path, **more), authority)


async def started(given: Settings) -> None:
    async with running(given, loops=False):
        pass


async def test_an_old_home_goes_on_and_is_told_of_the_rotation(tmp_path: Path) -> None:
    given = settings(tmp_path)
    open_or_create(tmp_path / "authority", now=datetime.now(UTC))
    migrate(given)
    assert Authority(tmp_path / "authority").scope is None
    assert "can sign for any name" in authorities.advice(given)
    assert not (tmp_path / "authority" / "root.key").exists()
    await started(given)


@pytest.mark.parametrize("moved", [0, 1, 2, 3])
async def test_a_rotation_that_was_killed_is_gone_on_with(
    tmp_path: Path, moved: int
) -> None:
    """`moved` files of the new authority are in place already; with 3 all of them."""
    given = settings(tmp_path)
    migrate(given)
    await started(given)  # the database remembers the authority
    folder = tmp_path / "authority"
    before = Authority(folder)
    begun(folder, tmp_path / "spare", given, moved)
    if moved < 3:
        with pytest.raises(SetupError, match=r"interrupted.*ca rotate"):
            await started(given)
    async with opened(given) as platform:
        after = await authorities.rotate(platform, actor=OF_THE_TESTS)
    assert after.authority.root_pem == (tmp_path / "spare/root.pem").read_bytes()
    assert after.authority.anchors_pem == after.authority.root_pem + before.root_pem
    assert sorted(path.name for path in folder.iterdir()) == [
        *("anchors.pem", "former", "intermediate.pem", "root.key.sealed", "root.pem")
    ]
    await started(given)


async def test_a_half_made_new_authority_is_made_anew_for_the_settings_of_now(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    migrate(given)
    await started(given)
    new = tmp_path / "authority" / previous_authorities.NEXT
    signing.create(new, datetime.now(UTC))
    half_made = (new / "root.pem").read_bytes()
    (new / "intermediate.pem").unlink()  # killed just before the last step
    moved = settings(tmp_path, nodes_domain="moved.test")
    async with opened(moved) as platform:
        after = await authorities.rotate(platform, actor=OF_THE_TESTS)
    assert after.authority.root_pem != half_made
    assert after.authority.scope is not None
    assert after.authority.scope.covers("node.moved.test")


def begun(folder: Path, spare: Path, given: Settings, moved: int) -> None:
    sealer = sealer_of(given)
    signing.create(
        folder / previous_authorities.NEXT,
        datetime.now(UTC),
        seal=lambda pem: sealer.seal(pem, purpose=authorities.PURPOSE),
    )
    shutil.copytree(folder / previous_authorities.NEXT, spare)
    if moved == 3:
        previous_authorities.complete(folder)
        return
    stored = {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()
    }
    previous_authorities.complete(folder)
    # As the kill left it: what was moved last is not moved yet.
    (folder / previous_authorities.NEXT).mkdir()
    for name in ["root.pem", "root.key.sealed", "intermediate.pem"][moved:]:
        (folder / name).replace(folder / previous_authorities.NEXT / name)
        (folder / name).write_bytes(stored[name])


async def test_the_key_of_a_rotation_that_was_killed_opens_with_new_sealing_keys(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    migrate(given)
    folder = tmp_path / "authority"
    begun(folder, tmp_path / "spare", given, 0)
    reseal(given)
    async with opened(given) as platform:
        await authorities.rotate(platform, actor=OF_THE_TESTS)
    assert root_key(given).public_key() == Authority(folder).root.public_key()


@pytest.mark.parametrize("change", ["migrate", "rotate", "reseal"])
def test_an_authority_is_changed_by_one_at_a_time(tmp_path: Path, change: str) -> None:
    """One that reseals the key of the root before would put it over the new one's."""
    given = settings(tmp_path)
    migrate(given)
    folder = tmp_path / "authority"

    async def rotate() -> None:
        async with opened(given) as platform:
            await authorities.rotate(platform, actor=OF_THE_TESTS)

    changes: dict[str, Callable[[], object]] = {
        "migrate": lambda: migrate(given),
        "rotate": lambda: asyncio.run(rotate()),
        "reseal": lambda: reseal(given),
    }
    other = threading.Thread(target=changes[change])
    with previous_authorities.changing(folder):
        other.start()
        begun(folder, tmp_path / "spare", given, 0)
        other.join(1)
        assert other.is_alive()
        previous_authorities.complete(folder)
    other.join()
    assert root_key(given).public_key() == Authority(folder).root.public_key()


def reseal(given: Settings) -> None:
    """Rotate the sealing keys until the present one is gone."""
    present = load_keyring(given.secrets_path).sealing[0]
    while present in load_keyring(given.secrets_path).sealing:
        key_rotation.rotate(
            given.database,
            given.secrets_path,
            authorities.folder_of(given),
            pause=lambda _: None,
        )


def root_key(given: Settings) -> Any:
    sealed = (authorities.folder_of(given) / authorities.ROOT_KEY).read_bytes()
    pem = sealer_of(given).open(sealed, purpose=authorities.PURPOSE)
    return load_pem_private_key(pem, None)


async def test_nothing_is_rotated_while_a_process_of_the_home_runs(
    tmp_path: Path, postgres_url: str
) -> None:
    given = settings(tmp_path, database_url=postgres_url)
    migrate(given)
    before = Authority(tmp_path / "authority").root
    async with running(given, loops=False), opened(given) as platform:
        with pytest.raises(SetupError, match="in use by process"):
            await authorities.rotate(platform, actor=OF_THE_TESTS)
    assert Authority(tmp_path / "authority").root == before
    async with opened(given) as platform:
        after = await authorities.rotate(platform, actor=OF_THE_TESTS)
    assert after.authority.root != before
    await started(given)


async def test_a_second_rotation_keeps_all_roots_that_are_shown(tmp_path: Path) -> None:
    given = settings(tmp_path)
    migrate(given)
    roots = []
    for _ in range(2):
        roots.append(Authority(tmp_path / "authority").root_pem)
        async with opened(given) as platform:
            await authorities.rotate(platform, actor=OF_THE_TESTS)
    anchors = Authority(tmp_path / "authority").anchors_pem
    assert all(anchors.count(root) == 1 for root in roots)
    assert len(anchors) > 2 * len(roots[0])


def test_an_intermediate_past_half_its_life_is_renewed_by_migrate(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path)
    migrate(given)
    folder = tmp_path / "authority"
    first = Authority(folder).intermediate
    for years, renewed in ((2, False), (3, True)):
        later = datetime.now(UTC) + timedelta(days=365 * years)
        authorities.ensure(given, sealer_of(given), now=later)
        assert (Authority(folder).intermediate != first) is renewed


def test_one_certificate_for_the_api_at_a_time() -> None:
    with pytest.raises(SetupError, match="api_tls, api_tls_certificate, acme_api_name"):
        load({"LEYDEN_API_TLS": "true", "LEYDEN_API_TLS_CERTIFICATE": "a"} | KEY)


KEY = {"LEYDEN_API_TLS_KEY": "b"}


async def test_the_api_is_served_over_tls_with_a_certificate_of_ours(
    tmp_path: Path,
) -> None:
    given = settings(tmp_path, api_tls=True)
    migrate(given)
    context = ssl.create_default_context(cafile=str(tmp_path / "authority/root.pem"))
    async with running(given, loops=False):
        for name in ("localhost", "127.0.0.1"):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", given.api_port, ssl=context, server_hostname=name
            )
            writer.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            await asyncio.open_connection(
                "127.0.0.1", given.api_port, ssl=context, server_hostname="a.example"
            )
