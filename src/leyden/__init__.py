"""Hosted Lightning nodes, and sales of inbound channels to them."""

__version__ = "0.2.0.dev0"
