"""An authority for tests that issues any certificate at once."""

from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509

from leyden.errors import AuthorityAway, AuthorityRefused
from leyden.nodes.certificates.authority import Authority, open_or_create
from leyden.nodes.lnd.home import Tls

WAIT = timedelta(seconds=3)


class FakeIssuer:
    """A fake authority that exposes its orders to a test."""

    def __init__(self, folder: Path, *, now: datetime) -> None:
        self.authority: Authority = open_or_create(folder, now=now)
        self.orders: dict[str, str] = {}  # names, by where their orders are
        self.now = now
        self.life = timedelta(days=90)
        self.answered = True  # whether it finds its answers at a name
        self.refused: set[str] = set()  # names that it issues nothing for
        self.away = False
        self.retry_after_s: int | None = None  # what it says when it says no
        self._looked: set[str] = set()
        self._issued: dict[str, tuple[bytes, bytes]] = {}
        self._other: dict[str, bytes] = {}

    async def begin(self, name: str) -> str:
        """Place an order for a certificate of that name; return its URL."""
        self._be_there()
        if name in self.refused:
            raise self._no("it issues nothing for this name")
        url = f"https://authority.test/orders/{len(self.orders)}"
        self.orders[url] = name
        return url

    async def advance(self, order_url: str, request: bytes) -> bytes | timedelta:
        """Advance an order: the first call has not seen the answer yet."""
        self._be_there()
        if order_url not in self.orders:
            raise self._no("there is no such order")
        if order_url not in self._looked:
            self._looked.add(order_url)
            return WAIT
        if not self.answered:
            raise self._no("nobody answers at this name")
        if order_url in self._other:
            return self._other[order_url]
        if order_url not in self._issued:
            self._issued[order_url] = request, self._sign(order_url, request)
        signed, chain = self._issued[order_url]
        if signed != request and _key(signed) != _key(request):
            raise self._no("this order was for another key")
        return chain

    def hand_out(self, order_url: str, tls: Tls) -> None:
        """Answer an order with another certificate than the requested one."""
        self._other[order_url] = tls.chain_pem

    async def close(self) -> None:
        """Do nothing: it has no connections."""

    def _sign(self, order_url: str, request: bytes) -> bytes:
        signing = x509.load_der_x509_csr(request)
        names = signing.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        if names.value.get_values_for_type(x509.DNSName) != [self.orders[order_url]]:
            raise self._no("this order was for another name")
        return self.authority.certify(
            self.orders[order_url],
            signing.public_key(),
            since=self.now,
            until=self.now + self.life,
        )

    def _be_there(self) -> None:
        if self.away:
            raise AuthorityAway(retry_after_s=self.retry_after_s)

    def _no(self, why: str) -> AuthorityRefused:
        return AuthorityRefused(why, kind="no", retry_after_s=self.retry_after_s)


def _key(request: bytes) -> object:
    return x509.load_der_x509_csr(request).public_key()
