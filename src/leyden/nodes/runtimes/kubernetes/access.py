"""The address and credentials of a cluster: from a kubeconfig, or a pod's own.

A kubeconfig may have a token, a file with one, or a client certificate. Programs that
create tokens (`exec`) are not supported: a service account's token needs none.
"""

import base64
import binascii
import ssl
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from leyden.errors import SetupError
from leyden.values import Struct, hiding

_IN_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_FRESH_S: Final = 60.0


class Token:
    """A token in a file that the kubelet renews."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read = ""
        self._at = 0.0

    def get(self, *, renewed: bool) -> str:
        """Return the token; read the file once a minute, and now if `renewed`."""
        now = time.monotonic()
        if renewed or not self._read or now - self._at > _FRESH_S:
            self._read = self._file.read_text().strip()
            self._at = now
        return self._read


class ApiServerAccess(Struct, frozen=True, kw_only=True):
    """A cluster's API server, the authority to trust, and our credentials."""

    server: str
    namespace: str
    authority_pem: str
    fixed_token: str = ""
    token_file: Token | None = None
    certificate_pem: str = ""
    key_pem: str = ""

    __repr__ = hiding("fixed_token", "key_pem")

    def token(self, *, renewed: bool) -> str:
        """Return the token to send, if any."""
        if self.token_file is not None:
            return self.token_file.get(renewed=renewed)
        return self.fixed_token

    def context(self) -> ssl.SSLContext:
        """Return a TLS context with the authority and our certificate, if any."""
        try:
            context = ssl.create_default_context(cadata=self.authority_pem)
            if self.certificate_pem:
                # The standard library reads a client's certificate only from a file.
                with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                    file.write(f"{self.certificate_pem}\n{self.key_pem}\n")
                    file.flush()
                    context.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise SetupError(
                f"kubeconfig: a certificate or key is not valid PEM ({error.reason})"
            ) from None
        return context


def in_pod(
    environment: Mapping[str, str], namespace: str, *, folder: Path = _IN_POD
) -> ApiServerAccess:
    """Return the access of the pod's service account; raise outside a pod."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        if not host:
            raise FileNotFoundError
        authority = (folder / "ca.crt").read_text()
    except OSError:
        raise SetupError(
            "kubeconfig: must be set, because this is not a pod with a service account"
        ) from None
    shown = f"[{host}]" if ":" in host else host
    return ApiServerAccess(
        server=f"https://{shown}:{port}",
        namespace=namespace,
        authority_pem=authority,
        token_file=Token(folder / "token"),
    )


def read(file: Path, namespace: str) -> ApiServerAccess:
    """Return the access from a kubeconfig's current context."""
    try:
        kubeconfig = yaml.safe_load(file.read_text())
    except OSError as error:
        raise SetupError(f"kubeconfig: {file}: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError):
        raise SetupError(f"kubeconfig: {file}: not valid YAML") from None
    if not isinstance(kubeconfig, dict):
        raise SetupError(f"kubeconfig: {file}: not a kubeconfig")
    context = _named(
        kubeconfig, "contexts", kubeconfig.get("current-context"), "context", file
    )
    cluster = _named(kubeconfig, "clusters", context.get("cluster"), "cluster", file)
    user = _named(kubeconfig, "users", context.get("user"), "user", file)
    server = str(cluster.get("server", ""))
    if not server.startswith("https://"):
        raise SetupError(f"kubeconfig: {file}: the server must be an https:// URL")
    if cluster.get("insecure-skip-tls-verify"):
        raise SetupError(
            f"kubeconfig: {file}: insecure-skip-tls-verify lets anyone impersonate the "
            "cluster; use certificate-authority-data instead"
        )
    for name in ("exec", "auth-provider"):
        if name in user:
            raise SetupError(
                f"kubeconfig: {file}: {name} is not supported; create a service "
                "account, and a kubeconfig with its token (docs/operators/cluster.md)"
            )
    token_file = user.get("tokenFile")
    access = ApiServerAccess(
        server=server.rstrip("/"),
        namespace=namespace,
        authority_pem=_content(cluster, "certificate-authority", file),
        fixed_token=str(user.get("token", "")),
        token_file=Token(file.parent / token_file) if token_file else None,
        certificate_pem=_content(user, "client-certificate", file),
        key_pem=_content(user, "client-key", file),
    )
    if not access.authority_pem:
        raise SetupError(
            f"kubeconfig: {file}: has no certificate authority of the cluster"
        )
    if not (access.fixed_token or access.token_file or access.certificate_pem):
        raise SetupError(f"kubeconfig: {file}: has no token and no certificate")
    return access


def _named(
    kubeconfig: Mapping[str, Any], plural: str, name: object, kind: str, file: Path
) -> Mapping[str, Any]:
    for each in kubeconfig.get(plural) or ():
        if isinstance(each, dict) and each.get("name") == name:
            found = each.get(kind)
            if isinstance(found, dict):
                return found
    raise SetupError(f"kubeconfig: {file}: has no {kind} {name!r}")


def _content(fields: Mapping[str, Any], name: str, file: Path) -> str:
    """Return the value of a field, or the content of the file that it names."""
    try:
        if data := fields.get(f"{name}-data"):
            return base64.b64decode(data, validate=True).decode()
        if path := fields.get(name):
            return (file.parent / str(path)).read_text()
    except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
        raise SetupError(f"kubeconfig: {file}: {name}-data is not base64") from None
    except OSError as error:
        raise SetupError(f"kubeconfig: {file}: {name}: {error.strerror}") from None
    return ""
