"""The Terraform provider, as Terraform or OpenTofu runs it, and its guide's example."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leyden.client import ApiError, Client
from leyden.people import api_keys
from tests.client.served_platform import ServedPlatform
from tests.nodes.api.nodes.conftest import NEW_NODE
from tests.programs import needs, require

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "customers" / "other-languages.md"
BINARY = (
    "leyden.invalid/leyden/leyden/0.2.0/linux_amd64/terraform-provider-leyden_v0.2.0"
)
PLANNED = 2  # what `plan` exits with if there is something to do

pytestmark = [needs("go", "terraform"), pytest.mark.timeout(300)]


class Terraform:
    """A folder with a configuration, in which commands run."""

    def __init__(self, folder: Path, home: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        self._program = require("terraform")
        self._env = {
            **{
                name: os.environ[name]
                for name in ("PATH", "LANG")
                if name in os.environ
            },
            "HOME": str(home),
            "CHECKPOINT_DISABLE": "1",
            **variables,
        }

    def write(self, configuration: str) -> None:
        (self.folder / "main.tf").write_text(configuration)

    def run(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [self._program, *words, "-no-color"],
            cwd=self.folder,
            env=self._env,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        return said

    def apply(self, configuration: str, code: int = 0) -> str:
        """Apply a configuration; afterwards there is nothing more to do."""
        self.write(configuration)
        said = self.run("apply", "-auto-approve", "-input=false", code=code)
        if not code:
            self.run("plan", "-detailed-exitcode", "-input=false")
        return said

    def shown(self, resource: str) -> dict[str, Any]:
        state = json.loads(self.run("show", "-json"))
        (found,) = (
            each["values"]
            for each in state["values"]["root_module"]["resources"]
            if each["address"] == resource
        )
        values: dict[str, Any] = found
        return values


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that has the provider, where the guide puts it."""
    made = tmp_path_factory.mktemp("home")
    subprocess.run(
        ["go", "build", "-o", made / ".terraform.d/plugins" / BINARY, "."],
        cwd=ROOT / "clients" / "terraform",
        check=True,
    )
    return made


@pytest.fixture
def terraform(
    home: Path, tmp_path: Path, platform: ServedPlatform
) -> Callable[..., Terraform]:
    def make(**variables: str) -> Terraform:
        made = Terraform(
            tmp_path,
            home,
            {"LEYDEN_URL": platform.url, "LEYDEN_KEY": platform.key, **variables},
        )
        made.write(_required())
        made.run("init")
        return made

    return make


def _guide() -> str:
    (found,) = re.findall(
        r"^```hcl\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE
    )
    text: str = found
    return text


def _required() -> str:
    return _guide().split("\n\n", 1)[0] + "\n"


def _only_node(leyden: Client, name: str) -> str:
    (found,) = (each for each in leyden.nodes.list() if each.node_name == name)
    return found.node_id


def test_the_guides_example_is_applied_changed_and_destroyed(
    terraform: Callable[..., Terraform], leyden: Client
) -> None:
    shop = terraform()
    said = shop.apply(_guide())
    endpoint = shop.shown("leyden_webhook_endpoint.orders")
    assert len(endpoint["secret"]) == 64
    assert endpoint["secret"] not in said
    node_id = _only_node(leyden, "shop")
    node = leyden.nodes.get(node_id)
    assert f"https://{node.api_endpoint}:8080" in said
    assert node.settings.alias == "Tide Mill"
    assert node.settings.zeroconf
    assert sorted(node.settings.whitelist) == ["198.51.100.0/24", "203.0.113.7"]

    shop.apply(
        _guide()
        .replace("Tide Mill", "Weir")
        .replace('"203.0.113.7", ', "")
        .replace('"node.*"', '"channel.*"')
    )
    node = leyden.nodes.get(node_id)
    assert node.settings.alias == "Weir"
    assert node.settings.zeroconf
    assert list(node.settings.whitelist) == ["198.51.100.0/24"]
    (subscription,) = (
        each
        for each in leyden.subscriptions.list()
        if each.subscription_id == endpoint["id"]
    )
    assert sorted(subscription.types) == ["channel.*", "order.*"]
    assert shop.shown("leyden_webhook_endpoint.orders")["secret"] == endpoint["secret"]

    # What others changed is found, and set back.
    leyden.nodes.change_settings(node_id, alias="somebody's", amp=False)
    assert '"Weir"' in shop.run("plan", "-detailed-exitcode", code=PLANNED)
    shop.run("apply", "-auto-approve")
    settings = leyden.nodes.get(node_id).settings
    assert (settings.alias, settings.amp) == ("Weir", False)

    said = shop.run("destroy", "-auto-approve", code=1)
    assert "may hold coins and channels" in said
    assert leyden.nodes.get(node_id).node_name == "shop"
    unprotected = _guide().replace(
        '"testnet"', '"testnet"\n  deletion_protection = false'
    )
    shop.apply(unprotected)
    shop.run("destroy", "-auto-approve")
    with pytest.raises(ApiError) as refused:
        leyden.nodes.get(node_id)
    assert refused.value.status == 404


def test_a_node_that_exists_is_imported(
    terraform: Callable[..., Terraform], leyden: Client
) -> None:
    node = leyden.nodes.create("weir", settings=NEW_NODE["settings"])
    weir = terraform()
    weir.write(
        _required()
        + 'resource "leyden_node" "weir" {\n name = "weir"\n network = "testnet"\n}\n'
        + 'resource "leyden_whitelist" "weir" {\n node_id = leyden_node.weir.id\n'
        + ' addresses = ["127.0.0.1"]\n}\n'
    )
    weir.run("import", "leyden_node.weir", node.node_id)
    weir.run("import", "leyden_whitelist.weir", node.node_id)
    weir.run("apply", "-auto-approve")
    weir.run("plan", "-detailed-exitcode")
    assert _only_node(leyden, "weir") == node.node_id


def test_a_creation_that_was_not_answered_is_sent_again_and_made_once(
    terraform: Callable[..., Terraform], platform: ServedPlatform, leyden: Client
) -> None:
    answers: list[int] = []

    async def lose(scope: Any, send: Any) -> bool:
        if scope["method"] == "POST" and len(answers) == 0:
            answers.append(503)
            headers = [(b"content-length", b"0"), (b"retry-after", b"1")]
            await send(
                {"type": "http.response.start", "status": 503, "headers": headers}
            )
            await send({"type": "http.response.body", "body": b""})
            return True
        platform.before.append(lose)
        return False

    platform.before.append(lose)
    quay = terraform()
    quay.apply(
        _required()
        + 'resource "leyden_node" "quay" {\n name = "quay"\n network = "testnet"\n}\n'
    )
    assert answers == [503]
    assert _only_node(leyden, "quay") == quay.shown("leyden_node.quay")["id"]


def test_an_operator_creates_a_key_that_is_revoked_when_it_is_destroyed(
    terraform: Callable[..., Terraform], platform: ServedPlatform
) -> None:
    async def make() -> str:
        _, text = await api_keys.create_operator_key(
            platform.platform, name="terraform", expires=None, actor="test"
        )
        return text

    billing = terraform(LEYDEN_OPERATOR_KEY=platform.do(make))
    said = billing.apply(
        _required()
        + 'resource "leyden_api_key" "shop" {\n name = "shop"\n scopes = ["node"]\n'
        + f' organization_id = "{platform.organization_id}"\n}}\n'
    )
    key = billing.shown("leyden_api_key.shop")["api_key"]
    assert key not in said
    with platform.client(key=key) as client:
        assert client.nodes.list() is not None
        billing.run("destroy", "-auto-approve")
        with pytest.raises(ApiError) as refused:
            client.nodes.list()
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("variables", "configuration", "why"),
    [
        ({"LEYDEN_URL": "api.example.com"}, "", "which begins with https://"),
        ({"LEYDEN_KEY": "forged"}, "", "The API key was refused"),
        ({"LEYDEN_KEY": ""}, "", "LEYDEN_KEY"),
        ({}, "colour = true", "colour"),
        ({}, 'color = "red"', "color"),
        ({}, "whitelist = []", "leyden_whitelist"),
        ({}, 'remotesigningmacaroon = "00"', "must not be in Terraform's state"),
    ],
)
def test_bad_input_says_what_to_do_and_creates_nothing(
    terraform: Callable[..., Terraform],
    leyden: Client,
    variables: dict[str, str],
    configuration: str,
    why: str,
) -> None:
    said = terraform(**variables).apply(
        _required()
        + 'resource "leyden_node" "wrong" {\n name = "wrong"\n network = "testnet"\n'
        + f" settings = {{ {configuration} }}\n}}\n",
        code=1,
    )
    assert why in " ".join(said.replace("│", "").split())
    assert "wrong" not in {each.node_name for each in leyden.nodes.list()}


def test_a_key_needs_an_operators_key(terraform: Callable[..., Terraform]) -> None:
    said = terraform().apply(
        _required()
        + 'resource "leyden_api_key" "shop" {\n name = "shop"\n scopes = ["node"]\n'
        + ' organization_id = "0"\n}\n',
        code=1,
    )
    assert "LEYDEN_OPERATOR_KEY" in said
