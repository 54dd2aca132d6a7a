"""What the OpenAPI document says beside the table: what needs no key, and webhooks."""

from typing import Any, Final

_NO_KEY: Final[list[dict[str, Any]]] = [{}]
TAGS: Final = (
    {"name": "Health", "description": "For load balancers and monitors. Need no key."},
    {
        "name": "LSPS1",
        "description": "Channels for wallets without an account, as bLIP-51 has them.",
    },
    {
        "name": "Wrapped invoices",
        "description": "Channels that the first payment pays for. Need no key.",
    },
)
_LSPS1: Final = (
    "Needs no key. 404 if the operator does not sell over LSPS1. The fields are those "
    "of [bLIP-51](https://github.com/lightning/blips/blob/master/blip-0051.md)."
)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": _json(schema)}


def _health(name: str, summary: str, status: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string", "const": status}},
    }
    return {
        "operationId": f"health_{name}",
        "summary": summary,
        "description": "Needs no key.",
        "tags": ["Health"],
        "security": _NO_KEY,
        "responses": {
            "200": {"description": "Success.", "content": _json(schema)},
            "4XX": _problem("The request is malformed."),
            "503": _problem("The database is away."),
        },
    }


def _lsps1(name: str, summary: str, **more: Any) -> dict[str, Any]:
    answer = {"description": "As bLIP-51 has it.", "type": "object"}
    return {
        "operationId": f"lsps1_{name}",
        "summary": summary,
        "description": _LSPS1,
        "tags": ["LSPS1"],
        "security": _NO_KEY,
        **more,
        "responses": {
            "200": {"description": "Success.", "content": _json(answer)},
            "4XX": _problem("An error of LSPS1, or not for sale."),
            "5XX": _problem("The seller is away."),
        },
    }


_FIELDS: Final = {
    "array": {
        "type": "array",
        "items": {
            "type": "object",
            "required": ["address", "port", "type"],
            "properties": {
                "address": {"type": "string"},
                "port": {"type": "integer"},
                "type": {"type": "string"},
            },
        },
    }
}


def _wrapped(
    name: str, summary: str, answers: dict[str, str], **asks: str
) -> dict[str, Any]:
    """Return an operation about wrapped invoices; `asks` are types of its fields."""
    operation: dict[str, Any] = {
        "operationId": f"wrapped_{name}",
        "summary": summary,
        "description": (
            "Needs no key. 404 if the operator does not wrap invoices. The fields are "
            "those of Voltage's Flow 2.0, which ZEUS uses."
        ),
        "tags": ["Wrapped invoices"],
        "security": _NO_KEY,
    }
    if asks:
        schema = {
            "type": "object",
            "required": [each for each in asks if each != "fee_id"],
            "properties": {each: {"type": kind} for each, kind in asks.items()},
        }
        operation["requestBody"] = {"required": True, "content": _json(schema)}
    properties = {
        each: _FIELDS.get(kind, {"type": kind}) for each, kind in answers.items()
    }
    answer = {"type": "object", "required": [*answers], "properties": properties}
    operation["responses"] = {
        "200": {"description": "Success.", "content": _json(answer)},
        "4XX": _problem("A field is wrong, or the invoice can't be wrapped."),
        "5XX": _problem("The node that opens channels is away."),
    }
    return operation


def paths() -> dict[str, Any]:
    """Return the operations that need no key."""
    order_id = {
        "name": "order_id",
        "in": "query",
        "required": True,
        "description": "The order's id.",
        "schema": {"type": "string"},
    }
    order = {
        "type": "object",
        "required": ["public_key", "lsp_balance_sat"],
        "properties": {
            "public_key": {
                "type": "string",
                "description": "The node that gets the channel.",
            },
            "lsp_balance_sat": {
                "type": "string",
                "description": "Its inbound capacity, in satoshis, as a string.",
            },
        },
    }
    body = {"required": True, "content": _json(order)}
    live, ready = "Whether the process runs", "Whether requests can be answered"
    return {
        "/health/live": {"get": _health("live", live, "live")},
        "/health/ready": {"get": _health("ready", ready, "ready")},
        "/lsps1/v1/get_info": {"get": _lsps1("get_info", "Get what is for sale")},
        "/lsps1/v1/create_order": {
            "post": _lsps1("create_order", "Order a channel", requestBody=body)
        },
        "/lsps1/v1/get_order": {
            "get": _lsps1("get_order", "Get an order", parameters=[order_id])
        },
        "/api/v1/info": {
            "get": _wrapped(
                "info",
                "Get the node to connect to",
                {"connection_methods": "array", "pubkey": "string"},
            )
        },
        "/api/v1/fee": {
            "post": _wrapped(
                "fee",
                "Get the fee of a payment",
                {
                    "amount_msat": "integer",
                    "fee_amount_msat": "integer",
                    "id": "string",
                },
                amount_msat="integer",
                pubkey="string",
            )
        },
        "/api/v1/proposal": {
            "post": _wrapped(
                "proposal",
                "Wrap an invoice",
                {"jit_bolt11": "string"},
                bolt11="string",
                fee_id="string",
            )
        },
    }


def webhooks() -> dict[str, Any]:
    """Return what endpoints of customers are sent."""
    return {
        "event": _webhook(
            "event",
            "An event of a subscription",
            "Sent to the URL of a subscription, signed as Standard Webhooks says.",
            "Event",
            ("webhook-id", "The event's id, the same in each attempt."),
            ("webhook-timestamp", "When it was sent, in seconds since 1970."),
            ("webhook-signature", "Signatures with the subscription's secret."),
        ),
        "node": _webhook(
            "node",
            "An event of a node",
            "Sent to the URL in the node's setting `webhook`.",
            "NodeEvent",
            ("Service-Secret", "The node's `webhook_secret`: compare it."),
            ("webhook-id", "The event's id, the same in each attempt."),
            ("webhook-timestamp", "When it was sent, in seconds since 1970."),
            ("webhook-signature", "Signatures with the node's secret."),
        ),
    }


def _webhook(
    name: str, summary: str, description: str, schema: str, *headers: tuple[str, str]
) -> dict[str, Any]:
    done = "Delivered. Other responses are failures, and we try again; 410 pauses."
    return {
        "post": {
            "operationId": f"receive_{name}",
            "summary": summary,
            "description": description,
            "tags": ["Webhooks"],
            "security": _NO_KEY,
            "parameters": [
                {
                    "name": header,
                    "in": "header",
                    "required": True,
                    "description": about,
                    "schema": {"type": "string"},
                }
                for header, about in headers
            ],
            "requestBody": {
                "required": True,
                "content": _json({"$ref": f"#/components/schemas/{schema}"}),
            },
            "responses": {
                "2XX": {"description": done},
                "4XX": {"description": "Not delivered."},
            },
        }
    }
