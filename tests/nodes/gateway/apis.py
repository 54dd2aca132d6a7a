"""The one endpoint of ours that gateways on other machines ask."""

from aiohttp import web

from leyden.nodes.gateway.discovery import DiscoveryGateway
from tests.nodes.gateway.calls import HOST
from tests.ports import free_port

TOKEN = "21 million and not one more"


class Api:
    """It, on a real socket."""

    def __init__(self, gateway: DiscoveryGateway) -> None:
        self.gateway = gateway
        self.port = free_port()
        self.sizes: list[int] = []
        self._runner: web.AppRunner | None = None

    async def up(self) -> None:
        app = web.Application()
        app.router.add_post("/v3/discovery:listeners", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self.port, reuse_address=True).start()

    async def down(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.sizes.append(len(body))
        answer = await self.gateway.answer(body, patience_s=5)
        if answer is None:
            return web.Response(status=304)
        return web.Response(body=answer, content_type="application/json")
