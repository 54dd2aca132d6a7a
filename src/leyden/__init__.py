"""Leyden keeps Lightning nodes alive and sells them inbound channels."""

__version__ = "0.1.0"
