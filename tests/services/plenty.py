"""Quotas that are in nobody's way: what they refuse, test_quotas.py shows."""

from leyden.domain.quotas import Limits, Quota

PLENTY: Limits = dict.fromkeys(Quota, 10**6)
