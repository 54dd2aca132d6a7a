"""The asynchronous client: it is made from the blocking one, and many may use it."""

import asyncio
import os
from pathlib import Path

import pytest

from leyden.base.http.server import tls
from leyden.client import ApiError
from leyden.client.aio import AsyncClient
from tests.authority import Authority
from tests.base.api.wire import Echo, running
from tests.client.asynchronous import FILE, written
from tests.client.served_platform import ServedPlatform


def test_it_is_the_blocking_client_with_await() -> None:
    if "WRITE_ASYNC" in os.environ:
        FILE.write_text(written(), encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == written(), (
        "run WRITE_ASYNC=1 ./leyden test tests/client/test_asynchronous.py"
    )


async def test_tasks_use_one_client_at_once_and_a_cancelled_one_hinders_none(
    platform: ServedPlatform,
) -> None:
    async with AsyncClient(platform.url, platform.key) as leyden:
        tail = asyncio.ensure_future(anext(leyden.events.follow(wait_s=25)))
        orders = await asyncio.gather(
            *(leyden.flow.create(1_000_000) for _ in range(3))
        )
        seen = {each.data["order_id"] for each in (await tail).events}
        assert seen <= {each.order_id for each in orders}
        waiting = asyncio.ensure_future(anext(leyden.events.follow(wait_s=25)))
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await asyncio.wait([waiting]))[0]
        for each in orders:
            await leyden.flow.cancel(each.order_id)
        listed = [each.status async for each in leyden.flow.orders(at_a_time=2)]
        assert listed[:3] == ["cancelled"] * 3


async def test_a_certificate_has_to_be_the_names_wherever_it_is_reached(
    tmp_path: Path,
) -> None:
    authority = Authority()
    authority.give(tmp_path, "api.harbour.test")
    context = tls(str(tmp_path / "tls.cert"), str(tmp_path / "tls.key"))
    with running(Echo(), tls=context) as server:

        async def ask(name: str, trusted: Authority) -> ApiError:
            url, connect = f"https://{name}", f"127.0.0.1:{server.port}"
            async with AsyncClient(
                url, "a-key", authority=trusted.pem, connect=connect
            ) as leyden:
                with pytest.raises(ApiError) as refused:
                    await leyden.key()
            return refused.value

        assert (await ask("api.harbour.test", authority)).status == 200  # an Echo's
        for name, trusted in (
            ("other.harbour.test", authority),
            ("api.harbour.test", Authority()),
        ):
            refused = await ask(name, trusted)
            assert (refused.status, "not trusted" in refused.message) == (0, True)
