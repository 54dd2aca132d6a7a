"""Limits that no test reaches by chance: quotas are tested where they are named."""

from leyden.people.rules.quotas import Limits, Quota

PLENTY: Limits = dict.fromkeys(Quota, 10**6)
