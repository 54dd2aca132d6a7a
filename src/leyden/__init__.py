"""Hosted Lightning nodes, and sales of inbound channels to them."""

__version__ = "0.1.0"
