"""Every page, on one screen."""

from leyden.domain.sign_in import Right
from leyden.web import entrance, nodes
from leyden.web.pages import Page, Who

_HERE = "/app/{organization_id}"
_NODES = f"{_HERE}/nodes"

PAGES: tuple[Page, ...] = (
    Page("GET", "/", entrance.first, Who.ANYONE),
    Page("GET", "/app", entrance.first, Who.ANYONE),
    Page("GET", "/app/", entrance.first, Who.ANYONE),
    Page("GET", "/app/sign-in", entrance.ask, Who.ANYONE),
    Page("POST", "/app/sign-in", entrance.enter, Who.ANYONE),
    Page("GET", "/app/second-factor", entrance.ask_code, Who.ANYONE),
    Page("POST", "/app/second-factor", entrance.enter_code, Who.ANYONE),
    Page("POST", "/app/sign-out", entrance.leave, Who.PERSON),
    Page("GET", _NODES, nodes.list_, Right.LOOK),
    Page("GET", f"{_NODES}/changes", nodes.changes, Right.LOOK),
)
