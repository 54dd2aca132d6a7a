"""Tickets: channels that are bought in an auction."""
