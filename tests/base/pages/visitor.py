"""A browser without a screen: keeps cookies and fills forms in."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from leyden.app.serving.site import Site

HOST = "dashboard.example:8000"


@dataclass(frozen=True)
class Shown:
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    text: str

    def header(self, name: str) -> str:
        return ", ".join(value for each, value in self.headers if each == name)

    @property
    def location(self) -> str:
        return self.header("location")

    @property
    def token(self) -> str:
        """The token that the forms of the page carry."""
        return _Tokens.of(self.text)


@dataclass
class Visitor:
    """Somebody with a browser."""

    site: Site
    organization_id: str = ""
    scheme: str = "http"
    address: str = "198.51.100.7"
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""
    # Done once, while the body of the next form is on its way.
    meanwhile: Callable[[], Awaitable[object]] | None = None
    drops_bodies: bool = False  # of answers, which take their time to be put together

    @property
    def root(self) -> str:
        return f"/app/{self.organization_id}"

    def at(self, address: str) -> "Visitor":
        """Return the same session at another address, in a tab of its own."""
        return Visitor(
            site=self.site,
            organization_id=self.organization_id,
            scheme=self.scheme,
            address=address,
            cookies=dict(self.cookies),
            token=self.token,
        )

    async def get(self, path: str, **headers: str) -> Shown:
        return await self.ask("GET", path, headers=headers)

    async def submit(
        self,
        path: str,
        fields: MutableMapping[str, Any] | None = None,
        /,
        **headers: str,
    ) -> Shown:
        """Send a form with the token of the page that was seen last."""
        sent = {"token": self.token, **(fields or {})}
        body = urlencode(sent, doseq=True).encode()
        return await self.ask("POST", path, body, headers=headers)

    async def sign_in(self, email: str, password: str) -> Shown:
        await self.get("/app/sign-in")
        shown = await self.submit(
            "/app/sign-in", {"email": email, "password": password, "next": ""}
        )
        found = shown
        while found.status == 303:  # the token of forms belongs to the session
            found = await self.get(found.location)
        return shown

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: MutableMapping[str, str] | None = None,
    ) -> Shown:
        """Make one request through ASGI, as the server would."""
        path, _, query = path.partition("?")
        sent = {"host": HOST}
        if self.cookies:
            jar = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            sent["cookie"] = jar
        if method == "POST":
            sent["content-type"] = "application/x-www-form-urlencoded"
            sent["origin"] = f"{self.scheme}://{HOST}"
        for name, value in (headers or {}).items():
            sent[name.replace("_", "-")] = value
        scope = {
            "type": "http",
            "method": method,
            "scheme": self.scheme,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(n.lower().encode(), v.encode()) for n, v in sent.items()],
            "client": (self.address, 50_000),
        }
        answered: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            await self._sending()
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            answered.append(self._taken(message))

        await self.site(scope, receive, send)
        start, *rest = answered
        shown = Shown(
            status=start["status"],
            headers=[(n.decode(), v.decode()) for n, v in start["headers"]],
            text=b"".join(message["body"] for message in rest).decode(),
        )
        for name, value in shown.headers:
            if name == "set-cookie":
                for morsel in SimpleCookie(value).values():
                    self.cookies.pop(morsel.key, None)
                    if morsel.value:
                        self.cookies[morsel.key] = morsel.value
        self.token = shown.token or self.token
        return shown

    def _taken(self, message: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        drops = self.drops_bodies and "body" in message
        return {**message, "body": b""} if drops else message

    async def _sending(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            await meanwhile()


class _Tokens(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = ""

    @classmethod
    def of(cls, text: str) -> str:
        parser = cls()
        parser.feed(text)
        return parser.found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = dict(attrs)
        if tag == "input" and fields.get("name") == "token":
            self.found = fields.get("value") or ""
