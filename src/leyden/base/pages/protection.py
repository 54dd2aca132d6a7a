"""Security headers for our pages."""

from leyden.base.settings import Settings


def protection(given: Settings) -> dict[str, str]:
    """Return headers that forbid foreign sources and inline code.

    The one exception is connections to the nodes themselves: keys are created
    and used in the browser, and sent to the node only.
    """
    nodes = f"https://*.{given.nodes_domain}:{given.gateway_rest_port}"
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self' {nodes}",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    return {
        "content-security-policy": "; ".join(f"{k} {v}" for k, v in policy.items()),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Not no-referrer: a form would then come from nowhere, as far as we are told.
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-store",
    }
