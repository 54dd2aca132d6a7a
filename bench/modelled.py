"""The list of nodes as most would write it: a response model, no key, no database."""

import json
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel


class Node(BaseModel):
    """A node, as lists show it."""

    node_name: str
    status: str
    node_id: str
    expires: str
    created: str
    type: str
    purchased_type: str
    purchase_status: str
    api_endpoint: str
    network: str
    lnd_version: str
    service_version: str
    update_available: bool


class Nodes(BaseModel):
    """An organization's nodes."""

    nodes: list[Node]


def application(body: bytes) -> FastAPI:
    """Give the application that answers this list."""
    answer = json.loads(body)
    app = FastAPI()

    @app.get("/organizations/{organization_id}/nodes", response_model=Nodes)
    async def list_nodes(organization_id: str) -> Any:  # noqa: ARG001
        return answer

    return app
