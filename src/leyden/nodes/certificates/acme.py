"""A client for external certificate authorities over ACME (RFC 8555).

An order is placed once and then advanced one step per call: we announce
that we are ready for its challenge, the authority fetches the answer at
http://NAME/.well-known/..., we send the signing request, and fetch the
certificate. The authority stores how far an order is, so its URL is enough
to continue it.
"""

import json
import re
import ssl
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import aiohttp
from cryptography.hazmat.primitives.asymmetric import ec

from leyden.base.aiohttp_connector import why
from leyden.errors import AuthorityAway, AuthorityRefused
from leyden.nodes.certificates import jws
from leyden.values import Struct, hiding

_CALL_S: Final = 30.0
_LONGEST_ANSWER: Final = 256 * 1024
_NONCES_TRIED: Final = 5
_LOOK_AGAIN_S: Final = 3
_LONGEST_WAIT_S: Final = 24 * 3600
_FAILED: Final = 400
_THEIR_FAULT: Final = 500
_PROBLEM: Final = "urn:ietf:params:acme:error:"
_NUMBER: Final = re.compile(r"[0-9]{1,8}", re.ASCII)


class AcmeAccount(Struct, frozen=True, kw_only=True):
    """An ACME account: a key, and what else the authority asks for."""

    key: ec.EllipticCurvePrivateKey
    email: str = ""
    binding_id: str = ""
    binding_secret: str = ""

    __repr__ = hiding("key", "binding_secret")


class _Answer(Struct, frozen=True):
    content: dict[str, Any]
    text: str
    location: str
    retry_after_s: int | None

    @property
    def wait(self) -> timedelta:
        return timedelta(seconds=max(_LOOK_AGAIN_S, self.retry_after_s or 0))


class AcmeIssuer:
    """The authority with a given directory URL."""

    def __init__(
        self, directory: str, account: AcmeAccount, *, tls: ssl.SSLContext
    ) -> None:
        self._directory_url = directory
        self._account = account
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._directory: dict[str, Any] = {}
        self._account_url = ""
        self._nonces: list[str] = []

    async def begin(self, name: str) -> str:
        """Place an order for a certificate of that name; return its URL."""
        wanted = {"identifiers": [{"type": "dns", "value": name}]}
        placed = await self._post(await self._endpoint("newOrder"), wanted)
        return self._url({"order": placed.location}, "order")

    async def advance(self, order_url: str, request: bytes) -> bytes | timedelta:
        """Advance an order; return the chain as PEM, or the time to wait.

        Raise AuthorityRefused if the order has failed for good.
        """
        answer = await self._post(order_url, None)
        if answer.content.get("status") == "ready":
            der = jws.base64url(request)
            url = self._url(answer.content, "finalize")
            answer = await self._post(url, {"csr": der})
        match answer.content.get("status"):
            case "pending":
                for url in answer.content.get("authorizations", ()):
                    await self._authorize(str(url))
                return answer.wait
            case "ready" | "processing":
                return answer.wait
            case "valid":
                url = self._url(answer.content, "certificate")
                return (await self._post(url, None)).text.encode()
            case _:
                raise AuthorityRefused(
                    await self._why(answer.content), kind="the order is void"
                )

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _authorize(self, url: str) -> None:
        """Report that the answer to the challenge is in place, unless that is known."""
        response = (await self._post(url, None)).content
        if response.get("status") != "pending":
            return
        for each in response.get("challenges", ()):
            if each.get("type") == "http-01":
                if each.get("status") == "pending":
                    await self._post(self._url(each, "url"), {})
                return
        raise AuthorityRefused("it offers no http-01 challenge", kind="no challenge")

    async def _why(self, order: Mapping[str, Any]) -> str:
        """Return why an order is void: the reason is at the challenge that failed."""
        for url in order.get("authorizations", ()):
            response = (await self._post(str(url), None)).content
            for each in response.get("challenges", ()):
                if problem := each.get("error"):
                    return str(problem.get("detail", problem))
        problem = order.get("error") or {}
        return str(problem.get("detail", "it gives no reason"))

    async def _endpoint(self, what: str) -> str:
        if not self._directory:
            self._directory = (await self._call("GET", self._directory_url)).content
        return self._url(self._directory, what)

    async def _registered(self) -> str:
        """Return our account; asked again with the same key, it is the same one."""
        if not self._account_url:
            url = await self._endpoint("newAccount")
            wanted: dict[str, object] = {"termsOfServiceAgreed": True}
            if self._account.email:
                wanted["contact"] = [f"mailto:{self._account.email}"]
            if self._account.binding_id:
                wanted["externalAccountBinding"] = jws.bound(
                    self._account.key,
                    url=url,
                    kid=self._account.binding_id,
                    secret=self._account.binding_secret,
                )
            self._account_url = (await self._send(url, wanted, account="")).location
        return self._account_url

    async def _post(self, url: str, payload: object) -> _Answer:
        try:
            return await self._send(url, payload, account=await self._registered())
        except AuthorityRefused as error:
            if error.kind == "accountDoesNotExist":
                self._account_url = ""  # it has forgotten us: the next time anew
                raise AuthorityAway("it does not know our account any more") from None
            raise

    async def _send(self, url: str, payload: object, *, account: str) -> _Answer:
        for _ in range(_NONCES_TRIED):
            nonce = await self._nonce()
            body = jws.signed(
                self._account.key, payload, url=url, nonce=nonce, account=account
            )
            try:
                return await self._call("POST", url, body)
            except AuthorityRefused as error:
                if error.kind != "badNonce":
                    raise
        raise AuthorityAway("it takes none of its own nonces")

    async def _nonce(self) -> str:
        if not self._nonces:
            await self._call("HEAD", await self._endpoint("newNonce"))
        if not self._nonces:
            raise AuthorityAway("it gives no nonce")
        return self._nonces.pop()

    async def _call(self, method: str, url: str, body: bytes | None = None) -> _Answer:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                trust_env=False, timeout=aiohttp.ClientTimeout(total=_CALL_S)
            )
        try:
            async with self._session.request(
                method,
                url,
                data=body,
                headers={"Content-Type": "application/jose+json"} if body else {},
                ssl=self._tls,
                allow_redirects=False,
            ) as response:
                content = await response.content.read(_LONGEST_ANSWER)
                while len(content) < _LONGEST_ANSWER and (
                    more := await response.content.read(_LONGEST_ANSWER - len(content))
                ):
                    content += more
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise AuthorityAway(why(error)) from error
        if nonce := response.headers.get("Replay-Nonce"):
            self._nonces[:] = [nonce]  # the newest: older ones may have ended
        answer = _answer(response, content)
        if response.status >= _FAILED:
            raise _refused(response.status, answer)
        return answer

    @staticmethod
    def _url(content: Mapping[str, Any], what: str) -> str:
        url = content.get(what)
        if not isinstance(url, str) or not url.startswith("https://"):
            raise AuthorityAway(f"it does not say where its {what} is")
        return url


def _answer(response: aiohttp.ClientResponse, content: bytes) -> _Answer:
    text = content.decode(errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = {}
    after = response.headers.get("Retry-After", "")
    seconds = min(int(after), _LONGEST_WAIT_S) if _NUMBER.fullmatch(after) else None
    return _Answer(
        content=found if isinstance(found, dict) else {},
        text=text,
        location=response.headers.get("Location", ""),
        retry_after_s=seconds,
    )


def _refused(status: int, answer: _Answer) -> Exception:
    kind = str(answer.content.get("type", "")).removeprefix(_PROBLEM)
    why = str(answer.content.get("detail", f"it answered {status}"))
    if status >= _THEIR_FAULT:
        return AuthorityAway(why, retry_after_s=answer.retry_after_s)
    return AuthorityRefused(why, kind=kind, retry_after_s=answer.retry_after_s)
