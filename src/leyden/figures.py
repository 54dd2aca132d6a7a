"""Where the figures are kept that the operator's monitoring reads."""

from prometheus_client import CollectorRegistry

REGISTRY = CollectorRegistry()
