"""The message of `leyden up` once everything runs: URLs and next steps."""

import shutil
from typing import Any

from leyden.base.settings import Settings
from leyden_workshop.devnet import first_run


def message(
    given: Settings, account: dict[str, Any], seconds: float, *, opens: str
) -> str:
    """Return that message; every command in it can be pasted as it stands.

    `opens` says when the market opens; "" without a market.
    """
    leyden = "leyden" if shutil.which("leyden") else "./leyden"
    login = account["dashboard_login"]
    play, plays = (
        ("scenario first-channel", "buy a channel")
        if given.devnet_market
        else ("mine 6", "six blocks")
    )
    jit = (
        f"\n  {leyden} jit       the purse, which sells just-in-time channels: "
        "docs/operators/just-in-time.md"
        if given.devnet_market and given.devnet_jit
        else ""
    )
    return f"""
everything is up ({seconds:.1f} s){opens and "; "}{opens}

  dashboard   {given.dashboard_url}
  sign in as  {login["email"]}
  password    {login["password"]}

  eval "$({leyden} dev env)"   sets LEYDEN_URL, _KEY, _ORGANIZATION, _CA, _GATEWAY
  nodes=$LEYDEN_URL/organizations/$LEYDEN_ORGANIZATION/nodes
  curl -H "X-SERVICE-AUTH: $LEYDEN_KEY" "$nodes"
  curl {given.api_url}/health/ready
  curl {given.api_url}/openapi.json

  docs        {given.api_url}/docs    try the API at /docs/api
  API key     in {given.home_path / first_run.FILE}, field api_key
  node names  curl and browsers resolve NAME.{given.nodes_domain};
              for other programs, add to /etc/hosts:
              {given.gateway_host} NAME.{given.nodes_domain}

  {leyden} trust     make browsers trust the nodes; `untrust` undoes it
  {leyden} nodes create "first light" --wait    create a node
  {leyden} dev {play:<29}    {plays}{jit}
  {leyden} status    {leyden} logs -f    {leyden} down
"""
