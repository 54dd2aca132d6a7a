"""Words that were retired stay retired, wherever users read: one word for one thing.

`python -m tests.sentences` prints all that they read.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.sentences import Sentence, every

# What a text is as a whole, and what it is now.
LABELS: Mapping[str, str] = {
    "How it does": "Status",
    "The last hour": "Last hour",
    "Up for": "Uptime",
    "Made": "Created",
    "From its callers": "Traffic in",
    "To its callers": "Traffic out",
    "How to reach it": "Connect",
    "What was asked of it": "Activity",
    "Make it": "Create node",
    "Make it now": "Create wallet",
    "Order it": "Place order",
    "Initialise it": "Create wallet",
    "How it shows itself": "Identity",
    "What it may take of the machine": "Size",
    "Who may reach it": "Allowed IP addresses",
    "The same again": "Repeat password",
    "Password until now": "Current password",
    "The present one": "Current password",
    "Here it is": "Your new macaroon",
    "Its way": "Progress",
    "What was ordered": "Order details",
    "Together": "Total",
    "To this platform": "Service fee",
    "Your own offer": "Maximum premium",
    "What there is": "Available credit",
    "Every movement": "Transactions",
    "As CSV": "Export CSV",
    "How its receiver does": "Delivery status",
    "Where events go": "Webhook endpoint",
    "One more thing": "Two-step verification",
    "Begin anew": "Start over",
    "Send again": "Redeliver",
    "Withdraw": "Revoke invitation",
    "Make a seed": "Create seed",
    "Make the wallet": "Create wallet",
    "Go on": "Continue",
    "To the node": "Go to node",
    "Download it": "Download",
    "Change it": "Change password",
    "Password of the wallet": "Wallet password",
    "Encrypt anew": "Re-encrypt backups",
    "What was sent": "Deliveries",
    "Kept since": "Stored",
}
# What no text says anywhere, and what to say instead.
PHRASES: Mapping[str, str] = {
    r"which clients have to trust": "clients must trust this certificate",
    r"only you can look at": "Only you can see this",
    r"waits for its wallet\b": "Create a wallet to finish setup",
    r"What is in the way": "Why this failed, and how to fix it",
    r"tried before you get it": "We test it before showing it",
    r"To the seller, and the chain": "Seller and network fees",
    r"So much you can be paid": "The most you can receive through this channel",
    r"So long its seller": "Minimum lifetime: the seller can't close it earlier",
    r"On your side of it": "Your starting balance",
    r"Nothing is amiss": "All good",
    r"[Ww]hat is to be done": "Scheduled jobs",
    r"[Ww]hat does not go well": "Failing jobs",
    r"Orders in need|[Tt]hose that need you": "Needs attention",
    r"address and password do not belong": "Wrong email or password",
    r"Set its money right": "Adjust balance",
    r"\bthat is none\b(?! of)": "not a valid X (reason)",
    r"\bPassword of the wallet\b": "Wallet password",
    r"[Ee]ncrypt(ed|ing)? (them |it |the backups )?anew\b": "re-encrypt",
    r"\b(seed|macaroon|None) is kept\b": "stored",
    r"[Ll]et you in\b|comes? home\b": "allowed; recover channels",
    r"(^|: )there (is|are) none\b": "no nodes, no orders: what there is none of",
    r"\bwhoever\b(?= runs (this|the) (platform|installation))": "the operator",
    r"may stand anywhere": "works before or after COMMAND",
    r"\bnothing can be (bought|ordered)": "customers can't order",
    r"\b(is|are) ended\b": "stopped",
    r"\btried \S+ times in vain": "failed N times",
    r"The operator can see why": "Ask the operator: the log says why",
    r"(were|was) not looked at": "could not check",
    r"\b(outfit|sighting|courier|errand|strays|purse)s?\b": "launch spec, ...",
}
ROOT = Path(__file__).parents[1]
# What a docstring begins with says Return, List, Create, Announce ... instead.
_VERBS = re.compile(r'"""(Give (?!up\b|the order up\b)|Tell |Say |Hand |Take in )')


def found(pattern: str) -> list[Sentence]:
    return [each for each in every() if re.search(pattern, each.text)]


def test_there_are_sentences_of_every_kind() -> None:
    texts = {each.text for each in every()}
    for text in (
        "Wrong email or password.",  # an error of the dashboard
        "Current password",  # a label
        "Start the whole platform on this machine, with a private chain.",
        "the request target is too long",  # an error of the API
        "Recovery codes",  # in a title
        "Wrong wallet password.",  # in a script
        "Repeat password",  # what a template hands to what draws it
        "Search operations",  # in the API reference
    ):
        assert text in texts


@pytest.mark.parametrize("label", LABELS)
def test_no_label_is_a_retired_one(label: str) -> None:
    said = [each.file for each in every() if each.text.rstrip(":.") == label]
    assert not said, f"{label!r} is now {LABELS[label]!r}"


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_sentence_has_a_retired_phrase(phrase: str) -> None:
    assert found(phrase) == [], f"say {PHRASES[phrase]!r}"


@pytest.mark.parametrize("folder", ["src", "tests", "bench"])
def test_docstrings_begin_with_conventional_verbs(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    assert not [
        f"{path.relative_to(ROOT)}: {text}"
        for path in files
        for text in path.read_text(encoding="utf-8").splitlines()
        if _VERBS.search(text) and "_VERBS" not in text
    ]
