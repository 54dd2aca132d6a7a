"""Leyden keeps Lightning nodes alive and sells them inbound channels."""
