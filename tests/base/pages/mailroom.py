"""A dashboard that sends emails: its settings, and the links in them."""

import re

from leyden.base.settings import Settings
from tests.events.emailed import ORIGIN

LINK = re.compile(rf"{re.escape(ORIGIN)}(/app/\S+)")
SENDS_EMAILS = Settings(
    sign_in_failures=3, smtp_host="127.0.0.1", smtp_from="leyden@harbour.test"
)
