"""How often one may ask, whatever the clock does meanwhile."""

import pytest

from leyden.errors import TooMany
from leyden.services.shared.limits import RateLimit, Requests


def test_a_clock_that_is_set_back_takes_nobodys_tokens() -> None:
    limit = RateLimit(60)
    limit.take("harbour", at_s=7_200.0)
    for _ in range(59):
        limit.take("harbour", at_s=3_600.0)
    with pytest.raises(TooMany) as refused:
        limit.take("harbour", at_s=3_600.0)
    assert refused.value.retry_after_s == 1
    limit.take("harbour", at_s=3_601.0)


def test_a_bucket_fills_evenly_to_a_minutes_worth_at_the_most() -> None:
    limit = RateLimit(60)
    for _ in range(60):
        limit.take("harbour", at_s=0.0)
    limit.check("lighthouse", at_s=0.0)
    with pytest.raises(TooMany):
        limit.check("harbour", at_s=0.5)
    for _ in range(60):
        limit.take("harbour", at_s=86_400.0)
    with pytest.raises(TooMany):
        limit.take("harbour", at_s=86_400.0)


def test_all_keys_of_an_organization_together_get_what_five_get() -> None:
    requests = Requests(60)
    for number in range(300):
        requests.take(f"key {number}", "harbour", at_s=0.0)
    with pytest.raises(TooMany, match="organization makes too many requests; wait 1 s"):
        requests.take("another key", "harbour", at_s=0.0)
    requests.take("a key", "lighthouse", at_s=0.0)
    requests.take("another key", "harbour", at_s=1.0)
