"""Sending webhooks."""
