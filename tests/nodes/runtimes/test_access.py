"""How a cluster is reached: what a kubeconfig may say, and tokens that change."""

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from leyden.errors import ClusterAway, ClusterRefused, SetupError
from leyden.nodes.runtimes.kubernetes import access
from leyden.nodes.runtimes.kubernetes.access import ApiServerAccess, Token
from leyden.nodes.runtimes.kubernetes.api import connect
from leyden.nodes.runtimes.kubernetes.kinds import Thing
from tests.authority import Authority
from tests.ports import free_port

CLUSTER = {
    "server": "https://192.0.2.1:6443/",
    "certificate-authority-data": base64.b64encode(b"an authority").decode(),
}


def written(
    folder: Path, *, cluster: object = None, user: object = None, **changes: Any
) -> Path:
    file = folder / "kubeconfig"
    complete = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster or CLUSTER}],
        "users": [{"name": "u", "user": user or {"token": "a token"}}],
        **changes,
    }
    file.write_text(yaml.safe_dump(complete))
    return file


def test_the_current_context_counts(tmp_path: Path) -> None:
    found = access.read(written(tmp_path), "lnds")
    assert (found.server, found.namespace) == ("https://192.0.2.1:6443", "lnds")
    assert found.authority_pem == "an authority"
    assert found.token(renewed=False) == "a token"
    assert "a token" not in repr(found)


def test_files_are_found_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n")
    (tmp_path / "ca.crt").write_text("an authority")
    found = access.read(
        written(
            tmp_path,
            cluster={"server": "https://a", "certificate-authority": "ca.crt"},
            user={"tokenFile": "token"},
        ),
        "lnds",
    )
    assert found.authority_pem == "an authority"
    assert found.token(renewed=False) == "from a file"


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    authority = Authority()
    chain, key = authority.sign("admin")
    user = {
        "client-certificate-data": base64.b64encode(chain).decode(),
        "client-key-data": base64.b64encode(key).decode(),
    }
    cluster = {
        "server": "https://a",
        "certificate-authority-data": base64.b64encode(authority.pem.encode()).decode(),
    }
    found = access.read(written(tmp_path, cluster=cluster, user=user), "lnds")
    assert found.context().get_ca_certs()
    wrong = ApiServerAccess(
        server="https://a",
        namespace="lnds",
        authority_pem=authority.pem,
        certificate_pem=chain.decode(),
        key_pem="no key",
    )
    with pytest.raises(SetupError, match="not valid PEM"):
        wrong.context()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"current-context": "there"}, "has no context 'there'"),
        ({"contexts": None}, "has no context 'here'"),
        ({"cluster": {"server": "http://a"}}, "must be an https:// URL"),
        ({"cluster": {"server": "https://a"}}, "no certificate authority"),
        (
            {"cluster": {**CLUSTER, "insecure-skip-tls-verify": True}},
            "insecure-skip-tls-verify lets anyone impersonate",
        ),
        (
            {"cluster": {**CLUSTER, "certificate-authority-data": "?"}},
            "certificate-authority-data is not base64",
        ),
        ({"user": {"exec": {"command": "sh"}}}, "exec is not supported"),
        ({"user": {"username": "a"}}, "has no token and no certificate"),
        ({"user": {"client-certificate": "gone"}}, "client-certificate: No such file"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(SetupError, match=f"kubeconfig: .*{why}"):
        access.read(written(tmp_path, **changes), "lnds")


def test_what_is_no_kubeconfig_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    with pytest.raises(SetupError, match="No such file"):
        access.read(file, "lnds")
    for text, why in (("- a", "not a kubeconfig"), ("{", "not valid YAML")):
        file.write_text(text)
        with pytest.raises(SetupError, match=why):
            access.read(file, "lnds")
    with pytest.raises(SetupError, match="this is not a pod"):
        access.in_pod({}, "lnds")


def test_a_pod_is_whom_its_service_account_says(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("an authority")
    (tmp_path / "token").write_text("a token\n")
    existing = {
        "KUBERNETES_SERVICE_HOST": "2001:db8::1",
        "KUBERNETES_SERVICE_PORT": "443",
    }
    found = access.in_pod(existing, "lnds", folder=tmp_path)
    assert found.server == "https://[2001:db8::1]:443"
    assert found.token(renewed=False) == "a token"
    with pytest.raises(SetupError, match="this is not a pod"):
        access.in_pod(existing, "lnds", folder=tmp_path / "elsewhere")


class Server:
    """An API server as far as these tests go: it takes one token, and may be busy."""

    def __init__(self) -> None:
        self.port = free_port()
        self.takes = "first"
        self.busy = False
        self.odd = False  # as a proxy's page of errors
        self.asked = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.asked += 1
        if request.headers["Authorization"] != f"Bearer {self.takes}":
            return web.json_response({"message": "Unauthorized"}, status=401)
        if self.odd:
            return web.Response(text="<html>Welcome</html>")
        if self.busy:
            return web.Response(status=429, headers={"Retry-After": "7"})
        return web.json_response({"metadata": {"uid": "1"}})


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made, app = Server(), web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", made.port).start()
    yield made
    await runner.cleanup()


async def test_a_token_that_was_renewed_is_read_again(
    tmp_path: Path, server: Server
) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    given = ApiServerAccess(
        server=f"http://127.0.0.1:{server.port}",
        namespace="lnds",
        authority_pem="",
        token_file=Token(token),
    )
    async with connect(given) as api:
        assert await api.find("/a", Thing)
        token.write_text("second\n")
        server.takes = "second"
        assert await api.find("/a", Thing), "the one from before was refused"
        server.takes = "third"
        with pytest.raises(ClusterRefused, match="Unauthorized"):
            await api.find("/a", Thing)
        assert server.asked == 5, "it is asked twice at the most"
        server.takes, server.busy = "second", True
        with pytest.raises(ClusterAway) as away:
            await api.find("/a", Thing)
        assert away.value.retry_after_s == 7
        server.odd = True
        with pytest.raises(ClusterAway):
            await api.find("/a", Thing)


async def test_a_server_that_is_not_there_is_away() -> None:
    given = ApiServerAccess(
        server=f"http://127.0.0.1:{free_port()}",
        namespace="lnds",
        authority_pem="",
        fixed_token="a token",
    )
    async with connect(given) as api:
        with pytest.raises(ClusterAway) as away:
            await api.find("/a", Thing)
    assert "does not respond" in str(away.value)
    assert "127.0.0.1" not in away.value.message, "which is for callers"
