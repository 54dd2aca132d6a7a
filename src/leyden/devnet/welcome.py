"""What `leyden up` says once everything runs: where it is, and what to try next."""

import shutil
from typing import Any

from leyden.devnet import first_run
from leyden.settings import Settings


def what_next(given: Settings, kept: dict[str, Any], seconds: float) -> str:
    """Give what is said then; every line can be typed as it stands."""
    leyden = "leyden" if shutil.which("leyden") else "./leyden"
    login = kept["dashboard_login"]
    opens = "; the market opens soon" if given.devnet_market else ""
    play, plays = (
        ("scenario first-channel", "an order, paid, and its channel")
        if given.devnet_market
        else ("mine 6", "six blocks")
    )
    return f"""
everything is up ({seconds:.1f} s){opens}

  dashboard   {dashboard_url(given)}
  sign in as  {login["email"]}
  password    {login["password"]}

  eval "$({leyden} dev env)"   sets LEYDEN_URL, _KEY, _ORGANIZATION and _CA
  nodes=$LEYDEN_URL/organizations/$LEYDEN_ORGANIZATION/nodes
  curl -H "X-SERVICE-AUTH: $LEYDEN_KEY" "$nodes"
  curl {api_url(given)}/health/ready
  curl {api_url(given)}/openapi.json

  API page    {api_url(given)}/docs
  API key     in {given.home_path / first_run.FILE}, field api_key
  node names  curl and browsers find NAME.{given.nodes_domain};
              for other programs add to /etc/hosts:
              {given.gateway_host} NAME.{given.nodes_domain}

  {leyden} nodes create "first light" --wait    a node, here at the terminal
  {leyden} dev {play:<29}    {plays}
  {leyden} status    {leyden} logs -f    {leyden} down
"""


def api_url(given: Settings) -> str:
    """Say where the API is."""
    host = given.api_host if ":" not in given.api_host else f"[{given.api_host}]"
    return f"http://{host}:{given.api_port}"


def dashboard_url(given: Settings) -> str:
    """Say where the dashboard is."""
    # Passkeys are for names: a browser makes none for a bare address.
    if given.api_host == "127.0.0.1":
        return f"http://localhost:{given.api_port}/app/"
    return f"{api_url(given)}/app/"
